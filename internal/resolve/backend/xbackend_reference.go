package backend

import (
	"fmt"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// xbackend resolves a reference to an XBackend. GEP-4894: it has to be in the namespace of the object that refers to it, whatever a
// ReferenceGrant says. [XBackend] checks the settings of its connections.
func xbackend(
	v *store.View, objects *store.Objects, from refs.Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol,
) (ir.Backend, *refs.Problem) {
	namespace := namespaceOf(from, ref)
	key := store.Key(namespace, string(ref.Name))
	if namespace != from.Namespace {
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonRefNotPermitted),
			Message: fmt.Sprintf("XBackend %s can be referred to in its own namespace only, not from namespace %s; make one there",
				key, from.Namespace),
		}
	}
	if ref.Port != nil {
		return ir.Backend{}, &refs.Problem{
			Reason:  string(gwv1.RouteReasonUnsupportedValue),
			Message: fmt.Sprintf("the reference to XBackend %s names port %d, and the XBackend has a port of its own; remove it", key, *ref.Port),
		}
	}
	object, ok := objects.XBackends.Get(v, key)
	if !ok {
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonBackendNotFound), Message: fmt.Sprintf("XBackend %s does not exist", key),
		}
	}
	protocol, ok := xbackendProtocol(object, fallback)
	if !ok {
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("XBackend %s has protocol %q, which a %s cannot speak; refer to another, or change it",
				key, ptr.Deref(object.Spec.Protocol, ""), from.Kind),
		}
	}
	return ir.Backend{
		Object:   ir.Name{Namespace: object.Namespace, Name: object.Name},
		Kind:     ir.KindXBackend,
		Port:     int32(object.Spec.Port.Number),
		Protocol: protocol,
	}, nil
}

// xbackendProtocol returns the protocol of an XBackend, and false if it cannot carry what is sent. Whole connections are forwarded
// unchanged, whatever they carry. MCP is HTTP.
func xbackendProtocol(b *gwxv1alpha1.XBackend, fallback ir.BackendProtocol) (ir.BackendProtocol, bool) {
	if fallback == ir.BackendUDP {
		return "", false
	}
	if fallback == ir.BackendTCP || b.Spec.Protocol == nil {
		return fallback, true
	}
	switch *b.Spec.Protocol {
	case gwxv1alpha1.BackendProtocolHTTP, gwxv1alpha1.BackendProtocolMCP:
		return fallback, true
	case gwxv1alpha1.BackendProtocolHTTP11:
		return ir.BackendHTTP1, fallback == ir.BackendHTTP1
	case gwxv1alpha1.BackendProtocolHTTP2, gwxv1alpha1.BackendProtocolH2C, gwxv1alpha1.BackendProtocolGRPC:
		return ir.BackendHTTP2, true
	case gwxv1alpha1.BackendProtocolWSS:
		return ir.BackendWSS, fallback == ir.BackendHTTP1
	default:
		return "", false
	}
}
