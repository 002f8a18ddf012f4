package policy_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

func TestTelemetry(t *testing.T) {
	t.Parallel()
	const services = "kind: Service\nmetadata: {namespace: infra, name: otel}\nspec: {ports: [{port: 4317}]}\n---\n"
	for _, c := range []struct {
		name, tracing      string
		accepted, resolved string
		spans              bool
	}{
		{"enabled", "{mode: Enabled, provider: {backendRef: {name: otel, port: 4317}}}", "", "", true},
		{"disabled", "{mode: Disabled}", "", "", false},
		{"nothing said is nothing done", "{}", "", "", false},
		{
			"a share above the whole",
			"{mode: Enabled, provider: {backendRef: {name: otel, port: 4317}}, samplingRate: {numerator: 2, denominator: 1}}", "Invalid", "",
			false,
		},
		{
			"a header that cannot be sent",
			`{mode: Enabled, provider: {backendRef: {name: otel, port: 4317}, headers: [{name: a, value: "50%"}]}}`, "Invalid", "", false,
		},
		{"a Service that is not there", "{mode: Enabled, provider: {backendRef: {name: none, port: 4317}}}", "", "BackendNotFound", false},
		{
			"a kind that takes no spans", "{mode: Enabled, provider: {backendRef: {kind: ConfigMap, name: otel, port: 4317}}}", "", "InvalidKind",
			false,
		},
		{
			"another namespace needs a grant", "{mode: Enabled, provider: {backendRef: {name: otel, namespace: app, port: 4317}}}", "",
			"RefNotPermitted", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := policy.Telemetry(
				nil,
				resolvetest.Objects(t, services+"kind: XTelemetryPolicy\nmetadata: {namespace: infra, name: p}\nspec: {tracing: "+c.tracing+"}\n"),
				"infra/p",
			)
			accepted, resolved := "", ""
			if r.Accepted != nil {
				accepted = r.Accepted.Reason
			}
			if r.ResolvedRefs != nil {
				resolved = r.ResolvedRefs.Reason
			}
			if accepted != c.accepted || resolved != c.resolved || (r.Spec != nil) != c.spans {
				t.Errorf("got %q, %q, %+v", accepted, resolved, r.Spec)
			}
		})
	}
}
