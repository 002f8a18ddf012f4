package endpoints

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// OfXBackend are the endpoints of an XBackend that selects pods. One outside the cluster has none.
func OfXBackend(b *gwxv1alpha1.XBackend) []ir.Endpoints {
	if b.Spec.Type != gwxv1alpha1.BackendTypeEndpointSelector {
		return nil
	}
	return []ir.Endpoints{{
		Kind: ir.KindXBackend, Object: ir.Name{Namespace: b.Namespace, Name: b.Name}, Port: int32(b.Spec.Port.Number),
	}}
}

// serviceOf is the Service whose slices hold the endpoints of a backend: the backend itself, or the one that was made for an XBackend or
// an InferencePool.
func serviceOf(v *store.View, objects *store.Objects, of ir.Endpoints) (*corev1.Service, bool) {
	switch of.Kind {
	case ir.KindXBackend:
		owner, ok := objects.XBackends.Get(v, of.Object.String())
		if !ok {
			return nil, false
		}
		return madeFor(v, objects, objects.ServicesByXBackend, owner, ir.XBackendLabel, func(s *corev1.Service) bool {
			_, found := servicePort(s, of.Port, corev1.ProtocolTCP)
			return found
		})
	case ir.KindInferencePool:
		owner, ok := objects.InferencePools.Get(v, of.Object.String())
		if !ok {
			return nil, false
		}
		return madeFor(v, objects, objects.ServicesByInferencePool, owner, ir.InferencePoolLabel, func(s *corev1.Service) bool {
			return len(poolPorts(v, objects, s, of)) > 0
		})
	default:
		return objects.ServiceOf(v, of.Target())
	}
}

// madeFor is the Service that Gatewright made for an object, which has a label with its UID, and that fits it.
func madeFor(
	v *store.View, objects *store.Objects, index *store.Index[*corev1.Service], owner metav1.Object, label string,
	fits func(*corev1.Service) bool,
) (*corev1.Service, bool) {
	for _, key := range index.Keys(v, store.KeyOf(owner)) {
		service, ok := objects.Services.Get(v, key)
		if ok && service.Labels[ir.ManagedByLabel] == ir.ManagedBy && service.Labels[label] == string(owner.GetUID()) && fits(service) {
			return service, true
		}
	}
	return nil, false
}
