package backend_test

import (
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

const imported = `
kind: ServiceImport
metadata: {namespace: app, name: cart}
spec:
  type: ClusterSetIP
  ports:
    - {name: web, port: 80}
    - {name: h2c, port: 81, appProtocol: kubernetes.io/h2c}
    - {name: tls, port: 443, appProtocol: https}
    - {name: socket, port: 82, appProtocol: kubernetes.io/ws}
    - {name: dns, port: 53, protocol: UDP}
---
kind: Service
metadata: {namespace: app, name: local}
spec: {ports: [{port: 80}]}
---
`

func grantTo(group, kind string) string {
	return `
kind: ReferenceGrant
metadata: {namespace: app, name: all}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: web}]
  to: [{group: "` + group + `", kind: ` + kind + `}]
---
`
}

func trust(group, kind string) string {
	return `
kind: BackendTLSPolicy
metadata: {namespace: app, name: trust}
spec:
  targetRefs: [{group: "` + group + `", kind: ` + kind + `, name: cart, sectionName: tls}]
  validation: {hostname: cart.example, wellKnownCACertificates: System}
---
`
}

func TestServiceImportReference(t *testing.T) {
	t.Parallel()
	const group = "multicluster.x-k8s.io"
	for _, c := range []struct {
		name, objects string
		from          string
		service       gwv1.ObjectName
		port          gwv1.PortNumber
		fallback      ir.BackendProtocol
		// want is the backend, or the reason and a part of the message.
		want, message string
	}{
		{"a port", imported, "app", "cart", 80, ir.BackendHTTP1, "ServiceImport/app/cart/80", ""},
		{"gRPC", imported, "app", "cart", 80, ir.BackendHTTP2, "ServiceImport/app/cart/80/http2", ""},
		{"a port says which protocol it speaks", imported, "app", "cart", 81, ir.BackendHTTP1, "ServiceImport/app/cart/81/http2", ""},
		{"connections", imported, "app", "cart", 443, ir.BackendTCP, "ServiceImport/app/cart/443/tcp", ""},
		{"datagrams", imported, "app", "cart", 53, ir.BackendUDP, "ServiceImport/app/cart/53/udp", ""},
		{"one that does not exist", imported, "app", "none", 80, ir.BackendHTTP1, "BackendNotFound", "export the Service"},
		{"a Service is no import", imported, "app", "local", 80, ir.BackendHTTP1, "BackendNotFound", "ServiceImport app/local does not exist"},
		{
			"a port that it does not have", imported, "app", "cart", 8080, ir.BackendHTTP1, "BackendNotFound",
			"ServiceImport app/cart has no TCP port 8080; it has 80 (web)",
		},
		{"a port for datagrams only", imported, "app", "cart", 53, ir.BackendHTTP1, "BackendNotFound", "has no TCP port 53"},
		{"no port", imported, "app", "cart", 0, ir.BackendHTTP1, "BackendNotFound", "names no port; add one of those it has: 80 (web)"},
		{"another namespace without a grant", imported, "web", "cart", 80, ir.BackendHTTP1, "RefNotPermitted", group},
		{"a grant for Services", imported + grantTo("", "Service"), "web", "cart", 80, ir.BackendHTTP1, "RefNotPermitted", group},
		{"a grant", imported + grantTo(group, "ServiceImport"), "web", "cart", 80, ir.BackendHTTP1, "ServiceImport/app/cart/80", ""},
		{"TLS without a policy", imported, "app", "cart", 443, ir.BackendHTTP1, "UnsupportedProtocol", "port 443 of ServiceImport app/cart"},
		{
			"TLS with a policy for the Service of that name", imported + trust("", "Service"), "app", "cart", 443, ir.BackendHTTP1,
			"UnsupportedProtocol", "no BackendTLSPolicy",
		},
		{"TLS with a policy", imported + trust(group, "ServiceImport"), "app", "cart", 443, ir.BackendHTTP1, "ServiceImport/app/cart/443", ""},
		{"WebSockets cannot carry gRPC", imported, "app", "cart", 82, ir.BackendHTTP2, "UnsupportedProtocol", "ServiceImport app/cart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ref := gwv1.BackendObjectReference{
				Group: new(gwv1.Group(group)), Kind: new(gwv1.Kind("ServiceImport")), Name: c.service, Namespace: new(gwv1.Namespace("app")),
			}
			if c.port != 0 {
				ref.Port = &c.port
			}
			objects, from := resolvetest.Objects(t, c.objects), refs.Origin{Kind: "HTTPRoute", Namespace: c.from}
			b, problem := backend.Resolve(nil, objects, from, ref, c.fallback)
			got, message := b.String(), ""
			if problem != nil {
				got, message = problem.Reason, problem.Message
			}
			if got != c.want || !strings.Contains(message, c.message) {
				t.Errorf("got %s, want %s: %s", got, c.want, message)
			}
		})
	}
}

func TestWebSocketOfAServiceImport(t *testing.T) {
	t.Parallel()
	objects := resolvetest.Objects(t, imported)
	b := ir.Backend{Kind: ir.KindServiceImport, Object: ir.Name{Namespace: "app", Name: "cart"}, Protocol: ir.BackendHTTP1}
	for port, want := range map[int32]bool{80: false, 82: true} {
		b.Port = port
		if got := backend.WebSocket(nil, objects, b); got != want {
			t.Errorf("port %d is for WebSockets: %t", port, got)
		}
	}
}
