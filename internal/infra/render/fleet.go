package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

// Object is one object of a fleet. It holds only the fields that Gatewright owns, so that others may own the rest.
type Object interface {
	runtime.ApplyConfiguration
	GetAPIVersion() *string
	GetKind() *string
	GetNamespace() *string
	GetName() *string
}

// Kinds are the kinds of a fleet's objects, in the order of [Fleet]. Those of one fleet all have its name. No fleet has all of them.
var Kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
	corev1.SchemeGroupVersion.WithKind("Service"),
}

// IsWorkload says whether a kind of [Kinds] is one that runs proxies. A fleet has one of them, and for a moment two.
func IsWorkload(kind string) bool { return kind == "Deployment" || kind == "DaemonSet" }

// Fleet gives the objects that run a Gateway's proxies, in the order in which they need each other. A Gateway without ports has no
// Service among them: Kubernetes has no Service without ports, and one that exists may keep its address until a port comes back.
// The bundle is the authorities, in PEM, that the control plane's certificate comes from; a new one rolls no pod. An error means that a
// patch cannot be used, see [PatchError], or that something cannot be encoded, which no valid Gateway causes.
// A Gateway that shares its proxies has nothing but a Service.
func Fleet(gateway ir.Gateway, settings Settings, bundle []byte) ([]Object, error) {
	var objects []Object
	if gateway.Fleet.Shared == (ir.Name{}) {
		var err error
		if objects, err = proxies(gateway, settings, bundle); err != nil {
			return nil, err
		}
	}
	if len(gateway.Ports) > 0 {
		front, err := service(gateway, settings.Families)
		if err != nil {
			return nil, fmt.Errorf("rendering the Service of Gateway %s: %w", gateway.Name, err)
		}
		objects = append(objects, front)
	}
	return objects, nil
}

// proxies are the objects that run them.
func proxies(gateway ir.Gateway, settings Settings, bundle []byte) ([]Object, error) {
	files, err := bootstrap.Files(gateway, settings.bootstrapOptions(gateway))
	if err != nil {
		return nil, fmt.Errorf("rendering the bootstrap of Gateway %s: %w", gateway.Name, err)
	}
	hash := bootstrap.Hash(files)
	if gateway.Fleet.Delivery == ir.XDS {
		files[bootstrap.BundleFile] = string(bundle)
	}
	running, err := workload(gateway, settings, hash)
	if err != nil {
		return nil, fmt.Errorf("rendering the proxies of Gateway %s: %w", gateway.Name, err)
	}
	scaler, err := autoscaler(gateway)
	if err != nil {
		return nil, fmt.Errorf("rendering the autoscaler of Gateway %s: %w", gateway.Name, err)
	}
	objects := []Object{serviceAccount(gateway), configMap(gateway, files), running}
	for _, object := range []Object{disruptionBudget(gateway), scaler} {
		if object != nil {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func serviceAccount(gateway ir.Gateway) Object {
	return applycorev1.ServiceAccount(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithLabels(labels(gateway)).
		WithAnnotations(annotations(gateway)).
		WithOwnerReferences(owners(gateway)...).
		WithAutomountServiceAccountToken(false)
}

func configMap(gateway ir.Gateway, files map[string]string) Object {
	return applycorev1.ConfigMap(gateway.Fleet.Name, gateway.FleetNamespace()).
		WithLabels(labels(gateway)).
		WithAnnotations(annotations(gateway)).
		WithOwnerReferences(owners(gateway)...).
		WithData(files)
}
