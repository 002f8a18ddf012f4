package refs

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// Values of a Service port's appProtocol that the standard defines (GEP-1911).
const (
	appProtocolH2C = "kubernetes.io/h2c"
	appProtocolWS  = "kubernetes.io/ws"
	appProtocolWSS = "kubernetes.io/wss"
)

// meaning is what an appProtocol says about a port.
type meaning struct {
	// protocol is empty where the port does not choose it.
	protocol ir.BackendProtocol
	// encrypted says that the port expects TLS.
	encrypted bool
	// webSocket says that the port is for WebSockets, which begin in HTTP/1.1.
	webSocket bool
}

// meanings are those of the standard, and the names that service meshes and clouds have in common, in lower case. What is not here says
// nothing.
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

// portProtocol is what is spoken to a port of a Service. A port that expects TLS is not sent plain text.
func portProtocol(
	v *store.View, objects *store.Objects, port corev1.ServicePort, from Origin, service string, fallback ir.BackendProtocol,
) (ir.BackendProtocol, *Problem) {
	if fallback == ir.BackendTCP || fallback == ir.BackendUDP {
		return fallback, nil
	}
	name := valueOr(port.AppProtocol, "")
	says := meanings[strings.ToLower(name)]
	switch {
	case says.webSocket && fallback == ir.BackendHTTP2:
		return "", &Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("port %d of Service %s has appProtocol %s, which can not carry gRPC for a %s; use a port for HTTP/2 (%s)",
				port.Port, service, name, from.Kind, appProtocolH2C),
		}
	case says.encrypted && !hasTLSPolicy(v, objects, service, port.Name):
		return "", &Problem{
			Reason: string(gwv1.RouteReasonUnsupportedProtocol),
			Message: fmt.Sprintf("port %d of Service %s has appProtocol %s, and no BackendTLSPolicy says which certificate to trust there; add one",
				port.Port, service, name),
		}
	case says.protocol == "":
		return fallback, nil
	default:
		return says.protocol, nil
	}
}

// WebSocket says whether a backend is for WebSockets.
func WebSocket(v *store.View, objects *store.Objects, backend ir.Backend) bool {
	key := backend.Object.String()
	if backend.XBackend {
		b, ok := objects.XBackends.Get(v, key)
		return ok && valueOr(b.Spec.Protocol, "") == string(gwxv1alpha1.BackendProtocolWSS)
	}
	service, ok := objects.Services.Get(v, key)
	if !ok {
		return false
	}
	for _, port := range service.Spec.Ports {
		if port.Port == backend.Port && transportOf(port.Protocol) == corev1.ProtocolTCP {
			return meanings[strings.ToLower(valueOr(port.AppProtocol, ""))].webSocket
		}
	}
	return false
}
