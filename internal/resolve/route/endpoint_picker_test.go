package route_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
)

// TestBesideAPicker has rules that would choose endpoints instead of a picker.
func TestBesideAPicker(t *testing.T) {
	t.Parallel()
	const objects = `
kind: InferencePool
metadata: {namespace: infra, name: picked}
spec: {selector: {matchLabels: {app: a}}, targetPorts: [{number: 8000}], endpointPickerRef: {name: one, port: {number: 80}}}
---
kind: InferencePool
metadata: {namespace: infra, name: pickerless}
spec:
  selector: {matchLabels: {app: a}}
  targetPorts: [{number: 8000}]
  endpointPickerRef: {name: none, port: {number: 80}, failureMode: FailOpen}
---
kind: InferencePool
metadata: {namespace: infra, name: balanced}
spec: {selector: {matchLabels: {app: a}}, targetPorts: [{number: 8000}]}
---
kind: Backend
metadata: {namespace: infra, name: spare}
spec: {fallback: true, endpoints: [{ip: {address: 192.0.2.1, port: 80}}]}
---
`
	const destination = "filters: [{type: RequestHeaderModifier, requestHeaderModifier: {" +
		"set: [{name: X-Gateway-Destination-Endpoint, value: 10.0.0.1}]}}], "
	const weightless = "{group: inference.networking.k8s.io, kind: InferencePool, name: picked, weight: 0}"
	const session, fallback = "sessionPersistence: {}, ", "{group: gatewright.dev, kind: Backend, name: spare}"
	pool := func(name string) string {
		return "{group: inference.networking.k8s.io, kind: InferencePool, name: " + name + "}"
	}
	for _, c := range []struct{ name, rule, message string }{
		{"a pool with a picker is served", "backendRefs: [" + pool("picked") + "]", ""},
		{"no sessions", session + "backendRefs: [" + pool("picked") + "]", "sessionPersistence would send requests past"},
		{"no fallback", "backendRefs: [" + pool("picked") + ", " + fallback + "]", "a Backend with fallback would send requests past"},
		{"no sessions where the picker is missing", session + "backendRefs: [" + pool("pickerless") + "]", "sessionPersistence would send"},
		{"no header of the picker", destination + "backendRefs: [" + pool("picked") + "]", "header x-gateway-destination-endpoint is for"},
		{"no weight, no picker", session + "backendRefs: [{name: one, port: 80}, " + weightless + "]", ""},
		{"sessions without a picker are served", session + "backendRefs: [" + pool("balanced") + "]", ""},
		{"a fallback without a picker is served", "backendRefs: [" + pool("balanced") + ", " + fallback + "]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "l:80:", objects+httpRoute("r", "1", "  rules: [{"+c.rule+"}]"))
			r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
			accepted := r.Outcome.Parents[0].Conditions[0]
			if served := accepted.State == outcome.True; served != (c.message == "") || !strings.Contains(accepted.Message, c.message) {
				t.Errorf("%+v", accepted)
			}
			if got := f.request("x.org", "/"); (got == "500") != (c.message != "") {
				t.Errorf("answered %s", got)
			}
		})
	}
}
