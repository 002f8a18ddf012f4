package backend

import (
	"fmt"

	"k8s.io/utils/ptr"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	inferencexv1alpha1 "sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// OfRule is [Resolve] for a backend of a rule that forwards requests, which may be an InferencePool. Its endpoint picker is nil if it
// refers to none.
func OfRule(
	v *store.View, objects *store.Objects, from refs.Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol,
) (ir.Backend, *ir.EndpointPicker, *refs.Problem) {
	switch group, kind := ptr.Deref(ref.Group, coreGroup), ptr.Deref(ref.Kind, "Service"); {
	case group == inferencev1.GroupName && kind == gwv1.Kind(store.InferencePool):
		return inferencePool(v, objects, from, ref, fallback)
	case group == inferencexv1alpha1.GroupName && kind == gwv1.Kind(store.InferencePoolImport):
		return ir.Backend{}, nil, poolImport(v, objects, from, ref)
	}
	b, problem := Resolve(v, objects, from, ref, fallback)
	return b, nil, problem
}

// inferencePool resolves a reference to an InferencePool. The standard ignores the port of the reference. [InferencePool] checks the rest.
func inferencePool(
	v *store.View, objects *store.Objects, from refs.Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol,
) (ir.Backend, *ir.EndpointPicker, *refs.Problem) {
	target := refs.Target{
		Group: inferencev1.GroupName, Kind: string(store.InferencePool), Namespace: namespaceOf(from, ref), Name: string(ref.Name),
	}
	key := store.Key(target.Namespace, target.Name)
	if !refs.Permitted(v, objects, from, target) {
		return ir.Backend{}, nil, notGranted(from, target)
	}
	pool, ok := objects.InferencePools.Get(v, key)
	if !ok {
		return ir.Backend{}, nil, &refs.Problem{
			Reason:  string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("InferencePool %s does not exist; create it, or correct the name", key),
		}
	}
	protocol := ir.BackendHTTP1
	switch pool.Spec.AppProtocol {
	case "", inferencev1.AppProtocolHTTP:
	case inferencev1.AppProtocolH2C:
		protocol = ir.BackendHTTP2
	default:
		protocol = ""
	}
	if protocol == "" || fallback == ir.BackendHTTP2 && protocol != ir.BackendHTTP2 {
		return ir.Backend{}, nil, &refs.Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("InferencePool %s has appProtocol %q, which a %s cannot use; use %s",
				key, pool.Spec.AppProtocol, from.Kind, inferencev1.AppProtocolH2C),
		}
	}
	chooser, _ := picker(v, objects, pool)
	return ir.Backend{
		Object: ir.Name{Namespace: pool.Namespace, Name: pool.Name}, Kind: ir.KindInferencePool, Protocol: protocol,
	}, chooser, nil
}

// HasPicker reports whether a backend is an InferencePool that refers to an endpoint picker, which may not exist.
func HasPicker(v *store.View, objects *store.Objects, b ir.Backend) bool {
	if b.Kind != ir.KindInferencePool {
		return false
	}
	pool, ok := objects.InferencePools.Get(v, b.Object.String())
	return ok && pool.Spec.EndpointPickerRef != nil
}

func notGranted(from refs.Origin, target refs.Target) *refs.Problem {
	return &refs.Problem{
		Reason: string(gwv1.RouteReasonRefNotPermitted),
		Message: fmt.Sprintf("no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to %s %s of group %s; add one there",
			target.Namespace, from.Kind, from.Namespace, target.Kind, store.Key(target.Namespace, target.Name), target.Group),
	}
}

// poolImport says why no request goes to the pool of another cluster.
func poolImport(v *store.View, objects *store.Objects, from refs.Origin, ref gwv1.BackendObjectReference) *refs.Problem {
	target := refs.Target{
		Group: inferencexv1alpha1.GroupName, Kind: string(store.InferencePoolImport), Namespace: namespaceOf(from, ref), Name: string(ref.Name),
	}
	key := store.Key(target.Namespace, target.Name)
	if !refs.Permitted(v, objects, from, target) {
		return notGranted(from, target)
	}
	if _, ok := objects.InferencePoolImports.Get(v, key); !ok {
		return &refs.Problem{
			Reason:  string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("InferencePoolImport %s does not exist; create it, or correct the name", key),
		}
	}
	return &refs.Problem{
		Reason: string(gwv1.RouteReasonInvalidKind), Import: key,
		Message: fmt.Sprintf("InferencePoolImport %s stands for pools of other clusters, %s; refer to an InferencePool of this cluster",
			key, importLimit),
	}
}

const importLimit = "which this version does not send requests to"
