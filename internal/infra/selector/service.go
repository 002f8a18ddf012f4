package selector

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// Label on a Service is the UID of the XBackend it was made for.
	Label = "gatewright.dev/xbackend-uid"

	kind = "XBackend"
)

// Render is the Service of a selector. GEP-4894: its name is generated, so that nobody relies on it, and it has no address of its own.
func Render(s ir.Selector) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    s.Backend.Namespace,
			GenerateName: "xbackend-",
			Labels:       map[string]string{ir.ManagedByLabel: ir.ManagedBy, Label: s.UID},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: gwxv1alpha1.GroupVersion.String(), Kind: kind, Name: s.Backend.Name, UID: types.UID(s.UID), Controller: new(true),
			}},
		},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
	}
	correct(service, s)
	return service
}

// correct makes a Service choose what the selector does, and says whether it did not.
func correct(service *corev1.Service, s ir.Selector) bool {
	port := corev1.ServicePort{Port: s.Port, TargetPort: intstr.FromInt32(s.Port), Protocol: corev1.ProtocolTCP}
	ports := service.Spec.Ports
	if maps.Equal(service.Spec.Selector, s.Labels) && len(ports) == 1 && equality.Semantic.DeepEqual(ports[0], port) {
		return false
	}
	service.Spec.Selector, service.Spec.Ports = maps.Clone(s.Labels), []corev1.ServicePort{port}
	return true
}

// ownerOf is the XBackend that a Service was made for, and false for one that this installation did not make.
func (k *Keeper) ownerOf(service *corev1.Service) (ir.Name, bool) {
	owner := metav1.GetControllerOfNoCopy(service)
	if owner == nil || owner.Kind != kind || service.Labels[ir.ManagedByLabel] != ir.ManagedBy || service.Labels[ir.InstallationLabel] != k.Installation || service.Labels[Label] != string(owner.UID) {
		return ir.Name{}, false
	}
	return ir.Name{Namespace: service.Namespace, Name: owner.Name}, true
}
