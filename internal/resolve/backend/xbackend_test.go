package backend_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

func TestXBackend(t *testing.T) {
	t.Parallel()
	external := func(hostname, rest string) string {
		return "{type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: " + hostname + "}" + rest + "}"
	}
	for _, c := range []struct {
		name, spec string
		reason     string
		// refused says that no connection is made.
		refused bool
	}{
		{"a name outside the cluster", external("api.example.com", ""), "Accepted", false},
		{"an address is no name", external("192.0.2.1", ""), "Invalid", true},
		{"a name inside the cluster would get around grants", external("a.b.svc.cluster.local", ""), "Invalid", true},
		{"the proxy itself is not outside", external("admin.localhost", ""), "Invalid", true},
		{"TLS needs an authority to trust", external("api.example.com", ", tls: {mode: ServerOnly}"), "Invalid", true},
		{
			"the system's authorities will do",
			external("api.example.com", ", tls: {mode: ServerOnly, validation: {hostname: api.example.com, wellKnownCACertificates: "+
				"System}}"), "Accepted", false,
		},
		{
			"an authority that is not there closes the backend",
			external("api.example.com", `, tls: {mode: ServerOnly, validation: {hostname: api.example.com, caCertificateRefs: [{group: "", kind: ConfigMap, name: none}]}}`),
			"NoValidCACertificate", true,
		},
		{
			"a client certificate that is not there closes the backend",
			external("api.example.com", ", tls: {mode: ClientAndServer, clientCertificateRef: {name: none}, validation: {hostname: a.example, "+
				"wellKnownCACertificates: System}}"),
			"InvalidCertificateRef", true,
		},
		{
			"pods are chosen by labels", "{type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: a}}}", "Accepted",
			false,
		},
		{
			"without labels there are no pods, not all", "{type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {}}}",
			"Invalid", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := resolvetest.Objects(t, "kind: XBackend\nmetadata: {namespace: app, name: b, generation: 2}\nspec: "+c.spec+"\n")
			r := backend.XBackend(nil, objects, "app/b")
			if refused := r.TLS != nil && r.TLS.FailClosed; refused != c.refused {
				t.Errorf("TLS: %+v", r.TLS)
			}
			o := r.Outcome([]string{"infra/gw"})
			accepted := o.Ancestors[0].Conditions[0]
			if accepted.Reason != c.reason || (accepted.State == outcome.True) != (c.reason == "Accepted") || o.Generation != 2 {
				t.Errorf("outcome: %+v", o)
			}
			if c.refused && !strings.Contains(accepted.Message, "503") && !strings.Contains(accepted.Message, "Secret") {
				t.Errorf("the message does not say what happens to requests: %s", accepted.Message)
			}
		})
	}
}
