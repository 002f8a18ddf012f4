package backend

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Values of a Service port's appProtocol that the standard defines (GEP-1911).
const (
	appProtocolH2C = "kubernetes.io/h2c"
	appProtocolWS  = "kubernetes.io/ws"
	appProtocolWSS = "kubernetes.io/wss"
)

// meaning is what an appProtocol means for a port.
type meaning struct {
	// protocol is empty if the appProtocol does not choose one.
	protocol ir.BackendProtocol
	// encrypted reports whether the port expects TLS.
	encrypted bool
	// webSocket reports whether the port is for WebSockets, which start in HTTP/1.1.
	webSocket bool
}

// meanings are those of the standard, and the names that service meshes and clouds have in common, in lower case. Others have no meaning.
var meanings = map[string]meaning{
	appProtocolH2C: {protocol: ir.BackendHTTP2},
	appProtocolWS:  {protocol: ir.BackendHTTP1, webSocket: true},
	appProtocolWSS: {protocol: ir.BackendWSS, webSocket: true, encrypted: true},
	"grpc":         {protocol: ir.BackendHTTP2},
	"h2c":          {protocol: ir.BackendHTTP2},
	"http2":        {protocol: ir.BackendHTTP2},
	"https":        {encrypted: true},
	"tls":          {encrypted: true},
}

// portProtocol returns the protocol of a port of a Service. A port that expects TLS gets no plain text.
func portProtocol(
	v *store.View, objects *store.Objects, service *corev1.Service, port corev1.ServicePort, from refs.Origin, fallback ir.BackendProtocol,
) (ir.BackendProtocol, *refs.Problem) {
	if fallback == ir.BackendTCP || fallback == ir.BackendUDP {
		return fallback, nil
	}
	name := ptr.Deref(port.AppProtocol, "")
	says := meanings[strings.ToLower(name)]
	switch {
	case says.webSocket && fallback == ir.BackendHTTP2:
		return "", &refs.Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("port %d of %s has appProtocol %s, which cannot carry gRPC for a %s; use a port for HTTP/2 (%s)",
				port.Port, title(service), name, from.Kind, appProtocolH2C),
		}
	case says.encrypted && !hasTLSPolicy(v, objects, store.TargetOf(service), port.Name):
		return "", &refs.Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("port %d of %s has appProtocol %s, and no BackendTLSPolicy says which certificate to trust there; add one",
				port.Port, title(service), name),
		}
	case says.protocol == "":
		return fallback, nil
	default:
		return says.protocol, nil
	}
}

// WebSocket reports whether a backend is for WebSockets.
func WebSocket(v *store.View, objects *store.Objects, backend ir.Backend) bool {
	key := backend.Object.String()
	if backend.Kind == ir.KindXBackend {
		b, ok := objects.XBackends.Get(v, key)
		return ok && ptr.Deref(b.Spec.Protocol, "") == gwxv1alpha1.BackendProtocolWSS
	}
	if backend.Kind == ir.KindBackend {
		b, ok := objects.Backends.Get(v, key)
		return ok && fixedMeaning(b).webSocket
	}
	service, ok := objects.ServiceOf(v, backend.Target())
	if !ok {
		return false
	}
	for _, port := range service.Spec.Ports {
		if port.Port == backend.Port && transportOf(port.Protocol) == corev1.ProtocolTCP {
			return meanings[strings.ToLower(ptr.Deref(port.AppProtocol, ""))].webSocket
		}
	}
	return false
}
