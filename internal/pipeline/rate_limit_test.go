package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/xds"
)

// globalLimit is a policy with so many requests in an hour, for all requests or for those that a selector has.
func globalLimit(name string, second, requests int, selector string) string {
	return fmt.Sprintf(`
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: %s, generation: %d, creationTimestamp: "2026-01-01T00:00:%02dZ"}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  rateLimit: {global: {rules: [{clientSelectors: [%s], limit: {requests: %d, unit: Hour}}]}}
`, name, requests, second, selector, requests)
}

// rateLimits has what the service was given, as text.
type rateLimits struct{ given []string }

func (r *rateLimits) Apply(all []*ir.GlobalRateLimit) string {
	text := "limits "
	for _, l := range all {
		text += fmt.Sprintf("%s:%d ", l.Policy, l.Rules[0].Requests)
	}
	r.given = append(r.given, text)
	return text
}

// reached has the states of the rate limit service that were reached.
type reached struct {
	discard
	states *[]string
}

func (r reached) Reach(states map[xds.GroupID]string, _ time.Time) {
	if state, ok := states[xds.GroupID(ir.RateLimitService)]; ok {
		*r.states = append(*r.states, state)
	}
}

// TestTheRateLimitServiceLearnsOfLimits: at the start, and whenever limits change, and of nothing else.
func TestTheRateLimitServiceLearnsOfLimits(t *testing.T) {
	t.Parallel()
	given, states := &rateLimits{}, []string{}
	outputs := discardAll()
	outputs.Convergence, outputs.RateLimits = reached{states: &states}, given
	p := New(outputs, prometheus.NewRegistry(), WithGlobalRateLimits(true), WithSystemNamespace("gatewright-system"))
	put(t, p, webGateway)
	p.Start()
	for _, text := range []string{
		globalLimit("b", 1, 5, ""), globalLimit("a", 2, 6, ""),
		"kind: Service\nmetadata: {namespace: infra, name: other}\nspec: {ports: [{port: 80}]}",
		globalLimit("b", 1, 7, ""),
	} {
		put(t, p, text)
		p.config.step()
	}
	want := []string{"limits ", "limits infra/b:5 ", "limits infra/a:6 infra/b:5 ", "limits infra/a:6 infra/b:7 "}
	if !slices.Equal(given.given, want) || !slices.Equal(states, want) {
		t.Errorf("the service was given %q, and the states are %q, want %q", given.given, states, want)
	}
}

// TestANamespaceHasRoomForSoManyRateLimits: the youngest policy is beyond the limit. It is not accepted, and fails closed.
func TestANamespaceHasRoomForSoManyRateLimits(t *testing.T) {
	t.Parallel()
	const get = "{methods: [{value: GET}]}"
	g := newGraph()
	g.objects.GlobalRateLimits, g.objects.System = true, "gatewright-system"
	g.objects.Limits = limits.Defaults()
	g.objects.Limits.RateLimits = 6
	load := func(text string) {
		t.Helper()
		for _, c := range resolvetest.Load(t, text) {
			g.objects.Apply(c)
		}
		g.memo.Run()
	}
	load(webGateway + globalLimit("old", 1, 1, get))
	load(globalLimit("young", 2, 2, get))
	known := func() []string {
		var names []string
		for _, key := range g.rateLimits.Keys(nil) {
			if l, _ := g.rateLimits.Get(nil, key); l != nil {
				names = append(names, key)
			}
		}
		return names
	}
	if got := known(); !slices.Equal(got, []string{"infra/old"}) {
		t.Errorf("the service knows of %v", got)
	}
	var said string
	for _, policies := range g.policyOutcomes {
		if o, ok := policies.outcomes.Get(nil, "infra/young"); ok {
			said = o.Conditions[0].Message
		}
	}
	if !strings.Contains(said, "limit rateLimits") {
		t.Errorf("the policy says %q", said)
	}
	load(globalLimit("old", 1, 1, ""))
	if got := known(); len(got) != 2 {
		t.Errorf("with room for both the service knows of %v", got)
	}
}
