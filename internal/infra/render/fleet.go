package render

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

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

// BundleKey is the key of a fleet's ConfigMap that holds the authorities by which its proxies know the control plane.
const BundleKey = corev1.ServiceAccountRootCAKey

// Kinds are the kinds of a fleet's objects, in the order of [Fleet]. Those of one fleet all have its name.
var Kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	corev1.SchemeGroupVersion.WithKind("Service"),
}

// Fleet gives the objects that run a Gateway's proxies, in the order in which they need each other. A Gateway without ports has no
// Service among them: Kubernetes has no Service without ports, and one that exists may keep its address until a port comes back.
// The bundle is the authorities, in PEM, that the control plane's certificate comes from; a new one rolls no pod. An error means that the bootstrap can not be encoded, which no valid Gateway causes.
func Fleet(gateway ir.Gateway, settings Settings, bundle []byte) ([]Object, error) {
	files, err := configFiles(gateway, settings)
	if err != nil {
		return nil, fmt.Errorf("rendering the bootstrap of Gateway %s: %w", gateway.Name, err)
	}
	hash := hashFiles(files)
	files[BundleKey] = string(bundle)
	objects := []Object{
		serviceAccount(gateway),
		configMap(gateway, files),
		deployment(gateway, settings, hash),
	}
	if len(gateway.Ports) > 0 {
		objects = append(objects, service(gateway))
	}
	return objects, nil
}

func serviceAccount(gateway ir.Gateway) Object {
	return applycorev1.ServiceAccount(gateway.Fleet.Name, gateway.Name.Namespace).
		WithLabels(labels(gateway)).
		WithAnnotations(gateway.Fleet.Annotations).
		WithOwnerReferences(owner(gateway)).
		WithAutomountServiceAccountToken(false)
}

func configMap(gateway ir.Gateway, files map[string]string) Object {
	return applycorev1.ConfigMap(gateway.Fleet.Name, gateway.Name.Namespace).
		WithLabels(labels(gateway)).
		WithAnnotations(gateway.Fleet.Annotations).
		WithOwnerReferences(owner(gateway)).
		WithData(files)
}

// service gives the fleet its address. Only the first static address can be asked for: a Service has one loadBalancerIP and keeps its
// clusterIP for life, and externalIPs would let a Gateway take over traffic of others.
func service(gateway ir.Gateway) Object {
	spec := applycorev1.ServiceSpec().
		WithType(corev1.ServiceTypeLoadBalancer).
		WithSelector(selector(gateway))
	if gateway.Fleet.InClusterOnly {
		spec.WithType(corev1.ServiceTypeClusterIP)
	}
	for _, port := range gateway.Ports {
		spec.WithPorts(applycorev1.ServicePort().
			WithName(portName(port)).
			WithProtocol(transport(port)).
			WithPort(port.Number).
			WithTargetPort(intstr.FromInt32(port.Number)))
	}
	if len(gateway.Fleet.Addresses) > 0 {
		spec.WithLoadBalancerIP(gateway.Fleet.Addresses[0])
	}
	if len(gateway.Fleet.ClusterAddresses) > 0 {
		spec.WithClusterIP(gateway.Fleet.ClusterAddresses[0])
	}
	return applycorev1.Service(gateway.Fleet.Name, gateway.Name.Namespace).
		WithLabels(labels(gateway)).
		WithAnnotations(gateway.Fleet.Annotations).
		WithOwnerReferences(owner(gateway)).
		WithSpec(spec)
}

func transport(port ir.Port) corev1.Protocol {
	if port.Protocol == ir.UDP {
		return corev1.ProtocolUDP
	}
	return corev1.ProtocolTCP
}

func portName(port ir.Port) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(port.Protocol)), port.Number)
}
