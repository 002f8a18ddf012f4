package endpoints

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// XBackendKeys is the [ir.Backend.EndpointsName] of an XBackend that chooses endpoints; one outside the cluster has none.
func XBackendKeys(b *gwxv1alpha1.XBackend) []string {
	if b.Spec.Type != gwxv1alpha1.BackendTypeEndpointSelector {
		return nil
	}
	return []string{ir.Backend{
		Object: ir.Name{Namespace: b.Namespace, Name: b.Name}, XBackend: true, Port: int32(b.Spec.Port.Number), Protocol: ir.BackendHTTP1,
	}.EndpointsName()}
}

// serviceOf is the Service whose slices hold the endpoints of a backend: the backend itself, or the one that was made for an XBackend.
func serviceOf(v *store.View, objects *store.Objects, backend ir.Backend) (*corev1.Service, bool) {
	if !backend.XBackend {
		return objects.Services.Get(v, backend.Object.String())
	}
	owner, ok := objects.XBackends.Get(v, backend.Object.String())
	if !ok {
		return nil, false
	}
	for _, key := range objects.ServicesByXBackend.Keys(v, backend.Object.String()) {
		service, ok := objects.Services.Get(v, key)
		if !ok || metav1.GetControllerOfNoCopy(service).UID != owner.UID {
			continue
		}
		if _, found := servicePort(service, backend.Port, corev1.ProtocolTCP); found {
			return service, true
		}
	}
	return nil, false
}
