package route_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
)

func TestParentConditions(t *testing.T) {
	t.Parallel()
	const rules = "  rules: [{backendRefs: [{name: one, port: 80}]}]"
	for _, c := range []struct {
		name, listeners, object, condition, reason string
		state                                      outcome.State
	}{
		{"a route that attaches is accepted", "a:80:", httpRoute("r", "1", rules), "Accepted", "Accepted", outcome.True},
		{
			"a section that does not exist", "a:80:", strings.Replace(httpRoute("r", "1", rules), "{name: gw}", "{name: gw, sectionName: b}", 1),
			"Accepted", "NoMatchingParent", outcome.False,
		},
		{
			"a hostname that no listener has", "a:80:x.org", httpRoute("r", "1", "  hostnames: [y.org]\n"+rules),
			"Accepted", "NoMatchingListenerHostname", outcome.False,
		},
		{
			"a namespace that is not let in", "a:80:",
			strings.Replace(strings.Replace(httpRoute("r", "1", rules), "namespace: infra", "namespace: app", 1), "{name: gw}",
				"{name: gw, namespace: infra}", 1),
			"Accepted", "NotAllowedByListeners", outcome.False,
		},
		{
			"a Service that is missing", "a:80:", httpRoute("r", "1", "  rules: [{backendRefs: [{name: none, port: 80}]}]"), "ResolvedRefs",
			"BackendNotFound", outcome.False,
		},
		{
			"a kind that is not served", "a:80:", httpRoute("r", "1", "  rules: [{backendRefs: [{name: x, kind: Unknown, port: 80}]}]"),
			"ResolvedRefs", "InvalidKind", outcome.False,
		},
		{
			"no rule can be served", "a:80:", httpRoute("r", "1", "  rules: [{filters: [{type: ExternalAuth}]}]"),
			"Accepted", "UnsupportedValue", outcome.False,
		},
		{
			"one rule of two cannot be served", "a:80:", httpRoute("r", "1", "  rules: [{matches: [{path: {type: RegularExpression, value: "+
				"'('}}]}, {backendRefs: [{name: one, port: 80}]}]"),
			"PartiallyInvalid", "UnsupportedValue", outcome.True,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.listeners, c.object)
			key := f.routes.Keys(nil)[0]
			r, _ := f.routes.Get(nil, key)
			for _, condition := range r.Outcome.Parents[0].Conditions {
				if condition.Type == c.condition {
					if condition.State != c.state || condition.Reason != c.reason {
						t.Errorf("%s is %s (%s: %s), want %s (%s)", c.condition, condition.State, condition.Reason, condition.Message, c.state, c.reason)
					}
					return
				}
			}
			t.Errorf("there is no condition %s in %+v", c.condition, r.Outcome)
		})
	}
}
