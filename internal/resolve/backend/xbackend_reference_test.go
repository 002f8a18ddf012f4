package backend_test

import (
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

func TestXBackendReference(t *testing.T) {
	t.Parallel()
	grant := `
kind: ReferenceGrant
metadata: {namespace: app, name: all}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: web}]
  to: [{group: gateway.networking.x-k8s.io, kind: XBackend}]
---
`
	xbackend := func(protocol string) string {
		return grant + "kind: XBackend\nmetadata: {namespace: app, name: pods}\nspec: {type: EndpointSelector, port: {number: " +
			"8080}" + protocol + "}\n"
	}
	for _, c := range []struct {
		name, objects string
		from          string
		port          *gwv1.PortNumber
		fallback      ir.BackendProtocol
		want          string
	}{
		{"one that does not exist", grant, "app", nil, ir.BackendHTTP1, "BackendNotFound"},
		{"from another namespace, whatever a grant says", xbackend(""), "web", nil, ir.BackendHTTP1, "RefNotPermitted"},
		{"with a port beside its own", xbackend(""), "app", new(gwv1.PortNumber(80)), ir.BackendHTTP1, "UnsupportedValue"},
		{"without a protocol it is spoken to as the route asks", xbackend(""), "app", nil, ir.BackendHTTP2, "XBackend/app/pods/8080/http2"},
		{"HTTP is what the route asks", xbackend(", protocol: HTTP"), "app", nil, ir.BackendHTTP1, "XBackend/app/pods/8080"},
		{"MCP is spoken by HTTP", xbackend(", protocol: MCP"), "app", nil, ir.BackendHTTP1, "XBackend/app/pods/8080"},
		{"H2C", xbackend(", protocol: H2C"), "app", nil, ir.BackendHTTP1, "XBackend/app/pods/8080/http2"},
		{"HTTP2", xbackend(", protocol: HTTP2"), "app", nil, ir.BackendHTTP1, "XBackend/app/pods/8080/http2"},
		{"GRPC", xbackend(", protocol: GRPC"), "app", nil, ir.BackendHTTP1, "XBackend/app/pods/8080/http2"},
		{"WSS", xbackend(", protocol: WSS"), "app", nil, ir.BackendHTTP1, "XBackend/app/pods/8080/wss"},
		{"gRPC cannot be spoken by HTTP/1.1", xbackend(", protocol: HTTP11"), "app", nil, ir.BackendHTTP2, "UnsupportedProtocol"},
		{"requests cannot be sent as bytes", xbackend(", protocol: TCP"), "app", nil, ir.BackendHTTP1, "UnsupportedProtocol"},
		{"bytes are passed on, whatever they are", xbackend(", protocol: HTTP11"), "app", nil, ir.BackendTCP, "XBackend/app/pods/8080/tcp"},
		{"there is no word for datagrams", xbackend(""), "app", nil, ir.BackendUDP, "UnsupportedProtocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ref := gwv1.BackendObjectReference{
				Group: new(gwv1.Group("gateway.networking.x-k8s.io")), Kind: new(gwv1.Kind("XBackend")), Name: "pods",
				Namespace: new(gwv1.Namespace("app")), Port: c.port,
			}
			b, problem := backend.Resolve(nil, resolvetest.Objects(t, c.objects), refs.Origin{Kind: "HTTPRoute", Namespace: c.from}, ref, c.fallback)
			got := b.String()
			if problem != nil {
				got = problem.Reason
			}
			if got != c.want {
				t.Errorf("got %s, want %s (%+v)", got, c.want, problem)
			}
		})
	}
}
