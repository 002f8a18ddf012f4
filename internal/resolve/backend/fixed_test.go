package backend_test

import (
	"net/netip"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

// fixedBackend is a Backend up to its spec.
const fixedBackend = "apiVersion: gatewright.dev/v1alpha1\nkind: Backend\nmetadata: {namespace: app, name: b}\nspec: "

func TestFixedEndpoints(t *testing.T) {
	t.Parallel()
	ip := func(address string) string { return "{endpoints: [{ip: {address: '" + address + "', port: 80}}]}" }
	name := func(hostname string) string { return "{endpoints: [{fqdn: {hostname: " + hostname + ", port: 443}}]}" }
	socket := func(path string) string { return "{endpoints: [{unix: {path: " + path + "}}]}" }
	secured := func(tls string) string {
		return "{endpoints: [{fqdn: {hostname: api.example.com, port: 443}}], tls: " + tls + "}"
	}
	for _, c := range []struct {
		name, spec string
		// message is empty for one that is served.
		reason, message string
	}{
		{"an address outside", ip("192.0.2.1"), "Accepted", ""},
		{"a private network", ip("10.1.2.3"), "Accepted", ""},
		{"IPv6", ip("2001:db8::1"), "Accepted", ""},
		{"the proxy itself", ip("127.0.0.1"), "Invalid", "127.0.0.0/8"},
		{"the proxy itself by IPv6", ip("::1"), "Invalid", "::/96"},
		{"IPv4 written as IPv6", ip("::ffff:192.0.2.1"), "Invalid", "::ffff:0.0.0.0/96"},
		{"link-local, and metadata of clouds", ip("169.254.169.254"), "Invalid", "169.254.0.0/16"},
		{"metadata of Azure", ip("168.63.129.16"), "Invalid", "168.63.129.16/32"},
		{"what the operator denies", ip("10.244.1.2"), "Invalid", "10.244.0.0/16"},
		{"an address with a zone", ip("fe80::1%eth0"), "Invalid", "is not an address"},
		{"no address", ip("api"), "Invalid", "is not an address"},
		{"a name outside", name("api.example.com"), "Accepted", ""},
		{"a name inside the cluster gets around grants", name("db.finance.svc.cluster.local"), "Invalid", "refer to the Service"},
		{"the name of a metadata server", name("metadata.google.internal"), "Invalid", "endpoints[0].fqdn.hostname"},
		{"a socket in a directory of the operator", socket("/run/sockets/app.sock"), "Accepted", ""},
		{"a socket elsewhere", socket("/run/other/app.sock"), "UnixSocketsDisabled", "/run/sockets"},
		{"a way out of the directory", socket("/run/sockets/../other/app.sock"), "Invalid", "without . and .."},
		{
			"names beside addresses", "{endpoints: [{fqdn: {hostname: a.example, port: 1}}, {ip: {address: 192.0.2.1, port: 1}}]}", "Invalid",
			"two Backends",
		},
		{"clients that choose the destination", "{type: DynamicResolver}", "Invalid", "clients would choose"},
		{"no endpoints", "{}", "Invalid", "add one"},
		{"TLS with the system's authorities", secured("{wellKnownCACertificates: System}"), "Accepted", ""},
		{"TLS without an authority", secured("{sni: api.example.com}"), "Invalid", "caCertificateRefs"},
		{
			"TLS with an authority that does not exist", secured("{caCertificateRefs: [{group: '', kind: ConfigMap, name: none}]}"),
			"NoValidCACertificate", "503",
		},
		{"a cipher suite that BoringSSL does not know", secured("{insecureSkipVerify: true, ciphers: [RC4]}"), "Invalid", `"RC4" is not known`},
		{
			"a client certificate that does not exist", secured("{insecureSkipVerify: true, clientCertificateRef: {name: none}}"),
			"InvalidCertificateRef", "Secret",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := resolvetest.Objects(t, fixedBackend+c.spec+"\n")
			objects.DeniedAddresses = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
			objects.SocketDirectories = []string{"/run/sockets/"}
			f := backend.ResolveFixed(nil, objects, "app/b")
			got := f.Outcome(nil).Conditions[0]
			if got.Reason != c.reason || !strings.Contains(got.Message, c.message) {
				t.Errorf("%s: %s", got.Reason, got.Message)
			}
			if closed := f.TLS != nil && f.TLS.FailClosed && len(f.Endpoints) == 0; closed != (c.reason != "Accepted") {
				t.Errorf("the connection and the condition do not agree: %+v", f)
			}
		})
	}
	t.Run("the operator may allow nothing outside", func(t *testing.T) {
		t.Parallel()
		for _, spec := range []string{ip("192.0.2.1"), name("api.example.com")} {
			objects := resolvetest.Objects(t, fixedBackend+spec+"\n")
			objects.NoExternalHostnames = true
			if f := backend.ResolveFixed(nil, objects, "app/b"); f.Accepted == nil || f.Accepted.Reason != backend.ReasonExternalHostnamesDisabled {
				t.Errorf("%s: %+v", spec, f.Accepted)
			}
		}
	})
}

func TestFixedReference(t *testing.T) {
	t.Parallel()
	object := func(rest string) string {
		return "apiVersion: gatewright.dev/v1alpha1\nkind: Backend\nmetadata: {namespace: app, name: b}\n" +
			"spec: {endpoints: [{ip: {address: 192.0.2.1, port: 80}}]" + rest + "}\n"
	}
	grant := "---\nkind: ReferenceGrant\nmetadata: {namespace: app, name: g}\nspec:\n" +
		"  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: web}]\n  to: [{group: gatewright.dev, kind: Backend}]\n"
	for _, c := range []struct {
		name, objects, from string
		port                *gwv1.PortNumber
		fallback            ir.BackendProtocol
		want                string
	}{
		{"in its namespace", object(""), "app", nil, ir.BackendHTTP1, "Backend/app/b/0"},
		{"as the route asks", object(""), "app", nil, ir.BackendHTTP2, "Backend/app/b/0/http2"},
		{"from elsewhere without a grant", object(""), "web", nil, ir.BackendHTTP1, "RefNotPermitted"},
		{"from elsewhere with a grant", object("") + grant, "web", nil, ir.BackendHTTP1, "Backend/app/b/0"},
		{"one that does not exist", "", "app", nil, ir.BackendHTTP1, "BackendNotFound"},
		{"with a port", object(""), "app", new(gwv1.PortNumber(80)), ir.BackendHTTP1, "UnsupportedValue"},
		{"h2c", object(", appProtocols: [kubernetes.io/h2c]"), "app", nil, ir.BackendHTTP1, "Backend/app/b/0/http2"},
		{
			"h2c by Envoy Gateway's name", object(", appProtocols: [gateway.envoyproxy.io/h2c]"), "app", nil, ir.BackendHTTP1,
			"Backend/app/b/0/http2",
		},
		{"WebSockets for gRPC", object(", appProtocols: [kubernetes.io/ws]"), "app", nil, ir.BackendHTTP2, "UnsupportedProtocol"},
		{"encrypted WebSockets in plain text", object(", appProtocols: [kubernetes.io/wss]"), "app", nil, ir.BackendHTTP1, "UnsupportedProtocol"},
		{"bytes", object(""), "app", nil, ir.BackendTCP, "Backend/app/b/0/tcp"},
		{"datagrams", object(""), "app", nil, ir.BackendUDP, "Backend/app/b/0/udp"},
		{"datagrams that are to be encrypted", object(", tls: {insecureSkipVerify: true}"), "app", nil, ir.BackendUDP, "UnsupportedProtocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ref := gwv1.BackendObjectReference{
				Group: new(gwv1.Group("gatewright.dev")), Kind: new(gwv1.Kind("Backend")), Name: "b",
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
