package refs

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// xbackend follows a reference to an XBackend. GEP-4894: it lives where whoever refers to it does, and no ReferenceGrant changes that. What it
// asks for beyond its protocol is a matter of the connections to it, and judged with them.
func xbackend(v *store.View, objects *store.Objects, from Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol) (ir.Backend, *Problem) {
	key := store.Key(valueOr(ref.Namespace, from.Namespace), string(ref.Name))
	if namespace := valueOr(ref.Namespace, from.Namespace); namespace != from.Namespace {
		return ir.Backend{}, &Problem{
			Reason: string(gwv1.RouteReasonRefNotPermitted),
			Message: fmt.Sprintf("XBackend %s can be referred to in its own namespace only, not from namespace %s; make one there",
				key, from.Namespace),
		}
	}
	if ref.Port != nil {
		return ir.Backend{}, &Problem{
			Reason:  string(gwv1.RouteReasonUnsupportedValue),
			Message: fmt.Sprintf("the reference to XBackend %s names port %d, and the XBackend has a port of its own; remove it", key, *ref.Port),
		}
	}
	object, ok := objects.XBackends.Get(v, key)
	if !ok {
		return ir.Backend{}, &Problem{Reason: string(gwv1.RouteReasonBackendNotFound), Message: fmt.Sprintf("XBackend %s does not exist", key)}
	}
	protocol, ok := xbackendProtocol(object, fallback)
	if !ok {
		return ir.Backend{}, &Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("XBackend %s has protocol %q, which a %s can not speak; refer to another, or change it",
				key, valueOr(object.Spec.Protocol, ""), from.Kind),
		}
	}
	return ir.Backend{
		Object:   ir.Name{Namespace: object.Namespace, Name: object.Name},
		XBackend: true,
		Port:     int32(object.Spec.Port.Number),
		Protocol: protocol,
	}, nil
}

// xbackendProtocol is what is spoken to an XBackend, and false where that does not fit what is to be sent. Whole connections are passed on as
// they are, whatever they carry. MCP is requests and answers by HTTP.
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
