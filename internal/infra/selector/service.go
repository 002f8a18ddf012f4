package selector

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
)

// owner is a kind of object that Services are made for.
type owner struct {
	kind       ir.BackendKind
	apiVersion string
	label      string
	// prefix is what names begin with, and portNames says that ports have names, which Kubernetes wants where there are several.
	prefix    string
	portNames bool
}

var owners = []owner{
	{kind: ir.KindXBackend, apiVersion: gwxv1alpha1.GroupVersion.String(), label: ir.XBackendLabel, prefix: "xbackend-"},
	{
		kind: ir.KindInferencePool, apiVersion: inferencev1.GroupVersion.String(), label: ir.InferencePoolLabel, prefix: "inferencepool-",
		portNames: true,
	},
}

// ownerKind is the kind of owner of a backend.
func ownerKind(b ir.BackendTarget) owner {
	return owners[slices.IndexFunc(owners, func(o owner) bool { return o.kind == b.Kind })]
}

// Render is the Service of a selector. GEP-4894: its name is generated, so that no one relies on it, and it has no address of its own.
func Render(s ir.Selector) *corev1.Service {
	of := ownerKind(s.Backend)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    s.Backend.Object.Namespace,
			GenerateName: of.prefix,
			Labels:       map[string]string{ir.ManagedByLabel: ir.ManagedBy, of.label: s.UID},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: of.apiVersion, Kind: of.kind.String(), Name: s.Backend.Object.Name, UID: types.UID(s.UID), Controller: new(true),
			}},
		},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
	}
	correct(service, s)
	return service
}

// correct makes a Service select what the selector does, and reports whether it changed.
func correct(service *corev1.Service, s ir.Selector) bool {
	ports := make([]corev1.ServicePort, len(s.Ports))
	for i, number := range s.Ports {
		ports[i] = corev1.ServicePort{Port: number, TargetPort: intstr.FromInt32(number), Protocol: corev1.ProtocolTCP}
		if ownerKind(s.Backend).portNames {
			ports[i].Name = fmt.Sprintf("p%d", number)
		}
	}
	shown := showAll(service)
	if maps.Equal(service.Spec.Selector, s.Labels) && equality.Semantic.DeepEqual(service.Spec.Ports, ports) {
		return shown
	}
	service.Spec.Selector, service.Spec.Ports = maps.Clone(s.Labels), ports
	return true
}

// showAll removes what would have proxies see a part of the endpoints, and reports whether there was any.
func showAll(service *corev1.Service) bool {
	spec, changed := &service.Spec, false
	// Kubernetes sets a policy where there is none, and that is the one which hides nothing.
	if policy := spec.InternalTrafficPolicy; policy != nil && *policy != corev1.ServiceInternalTrafficPolicyCluster {
		spec.InternalTrafficPolicy, changed = new(corev1.ServiceInternalTrafficPolicyCluster), true
	}
	if spec.TrafficDistribution != nil {
		spec.TrafficDistribution, changed = nil, true
	}
	for _, mode := range []string{corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints} {
		if _, ok := service.Annotations[mode]; ok {
			delete(service.Annotations, mode)
			changed = true
		}
	}
	return changed
}

// ownerOf is the object that a Service was made for, and false for one that this installation did not make.
func (r *ServiceReconciler) ownerOf(service *corev1.Service) (ir.BackendTarget, bool) {
	controller := metav1.GetControllerOfNoCopy(service)
	if controller == nil || service.Labels[ir.ManagedByLabel] != ir.ManagedBy || service.Labels[ir.InstallationLabel] != r.Installation {
		return ir.BackendTarget{}, false
	}
	for _, o := range owners {
		if controller.Kind == o.kind.String() && service.Labels[o.label] == string(controller.UID) {
			return ir.BackendTarget{Kind: o.kind, Object: ir.Name{Namespace: service.Namespace, Name: controller.Name}}, true
		}
	}
	return ir.BackendTarget{}, false
}
