package backend

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// fixed resolves a reference to a Backend. [ResolveFixed] checks its endpoints and the settings of its connections.
func fixed(
	v *store.View, objects *store.Objects, from refs.Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol,
) (ir.Backend, *refs.Problem) {
	target := refs.Target{Group: v1alpha1.GroupName, Kind: string(store.Backend), Namespace: namespaceOf(from, ref), Name: string(ref.Name)}
	key := store.Key(target.Namespace, target.Name)
	if !refs.Permitted(v, objects, from, target) {
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonRefNotPermitted),
			Message: fmt.Sprintf("no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to Backend %s of group %s; add one there",
				target.Namespace, from.Kind, from.Namespace, key, v1alpha1.GroupName),
		}
	}
	if ref.Port != nil {
		return ir.Backend{}, &refs.Problem{
			Reason:  string(gwv1.RouteReasonUnsupportedValue),
			Message: fmt.Sprintf("the reference to Backend %s names port %d, and its endpoints have ports of their own; remove it", key, *ref.Port),
		}
	}
	object, ok := objects.Backends.Get(v, key)
	if !ok {
		return ir.Backend{}, &refs.Problem{
			Reason:  string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("Backend %s does not exist; create it, or correct the name", key),
		}
	}
	protocol, problem := fixedProtocol(object, from, key, fallback)
	if problem != nil {
		return ir.Backend{}, problem
	}
	return ir.Backend{Object: ir.Name{Namespace: object.Namespace, Name: object.Name}, Kind: ir.KindBackend, Protocol: protocol}, nil
}

// fixedProtocol returns the protocol of a Backend. One that is to be encrypted gets no plain text.
func fixedProtocol(b *v1alpha1.Backend, from refs.Origin, key string, fallback ir.BackendProtocol) (ir.BackendProtocol, *refs.Problem) {
	unsupported := func(what, instead string) *refs.Problem {
		return &refs.Problem{
			Reason:  string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("Backend %s %s, which a %s cannot use; %s", key, what, from.Kind, instead),
		}
	}
	says := fixedMeaning(b)
	switch {
	case fallback == ir.BackendUDP && b.Spec.TLS != nil:
		return "", unsupported("has tls", "remove it, or refer to another")
	case fallback == ir.BackendUDP && hasSocket(b):
		return "", unsupported("has a Unix socket", "refer to another")
	case fallback == ir.BackendTCP || fallback == ir.BackendUDP:
		return fallback, nil
	case says.webSocket && fallback == ir.BackendHTTP2:
		return "", unsupported("has appProtocols for WebSockets", "use kubernetes.io/h2c, or refer to another")
	case says.encrypted && b.Spec.TLS == nil:
		return "", unsupported("has appProtocols with wss and no tls", "add tls")
	case says.protocol == "":
		return fallback, nil
	default:
		return says.protocol, nil
	}
}

// fixedMeaning is what the protocol of a Backend means. Envoy Gateway's names mean the same as those of the standard.
func fixedMeaning(b *v1alpha1.Backend) meaning {
	if len(b.Spec.AppProtocols) == 0 {
		return meaning{}
	}
	_, name, _ := strings.Cut(string(b.Spec.AppProtocols[0]), "/")
	return meanings["kubernetes.io/"+name]
}

func hasSocket(b *v1alpha1.Backend) bool {
	for i := range b.Spec.Endpoints {
		if b.Spec.Endpoints[i].Unix != nil {
			return true
		}
	}
	return false
}

// IsFallback reports whether a backend gets requests only while others are not healthy.
func IsFallback(v *store.View, objects *store.Objects, backend ir.Backend) bool {
	if backend.Kind != ir.KindBackend {
		return false
	}
	b, ok := objects.Backends.Get(v, backend.Object.String())
	return ok && ptr.Deref(b.Spec.Fallback, false)
}
