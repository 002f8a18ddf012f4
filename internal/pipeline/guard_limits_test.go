package pipeline

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// limitedTwice has two policies on a Gateway: one with global limits, and one whose settings are LIMITS.
const limitedTwice = base + `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: own}
spec: {parentRefs: [{name: web}], hostnames: [own.example], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: own}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: own}]
  rateLimit: {global: {rules: [{limit: {requests: 7, unit: Hour}}]}, local: {rules: [{limit: {requests: 7, unit: Hour}}]}}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: global}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  rateLimit: {global: {rules: [{limit: {requests: 5, unit: Hour}}]}}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: local}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  LIMITS
`

const localLimits = "rateLimit: {local: {rules: [{limit: {requests: 5, unit: Hour}}]}}"

// withLimits are the objects with settings of the policy `local`, of which a field is not known.
func withLimits(t *testing.T, settings, unknown string) []store.Change {
	t.Helper()
	changes := resolvetest.Load(t, strings.Replace(limitedTwice, "LIMITS", settings, 1))
	for _, change := range changes {
		if change.Key == "infra/local" && unknown != "" {
			change.Object.SetAnnotations(store.WithUnknownFields(nil, []string{unknown}))
		}
	}
	return changes
}

// TestLimitsThatAreNotKnownFailClosed: a policy on the Gateway has limits of one kind that cannot be served, beside another policy with
// limits of the other kind. Only a route with both kinds of its own has others instead.
func TestLimitsThatAreNotKnownFailClosed(t *testing.T) {
	t.Parallel()
	const limits = localLimits
	for _, c := range []struct {
		name, limits, unknown string
		panics                bool
		want                  string
	}{
		{name: "served", limits: limits, want: "v1"},
		{name: "a field that cannot be read", unknown: "spec.rateLimit", want: "error"},
		{name: "a panic", limits: limits, panics: true, want: "error"},
		{name: "a panic, and a field that cannot be read", unknown: "spec.rateLimit", panics: true, want: "error"},
		{name: "a field of a rule that is not known", limits: limits, unknown: "spec.rateLimit.local.rules[0].newer", want: "error"},
		{name: "such a field, and a panic", limits: limits, unknown: "spec.rateLimit.local.rules[0].newer", panics: true, want: "error"},
		{name: "another kind of limits", limits: limits, unknown: "spec.rateLimit.newer", want: "error"},
		{name: "another setting that is not known", limits: limits, unknown: "spec.rateLimits.newer", want: "v1"},
		{name: "a unit that is not known", limits: strings.Replace(limits, "Hour", "Year", 1), want: "error"},
		{name: "one rule of two", want: "error", limits: `rateLimit: {local: {rules: [
    {limit: {requests: 5, unit: Hour}},
    {limit: {requests: 5, unit: Hour}, clientSelectors: [{headers: [{name: x-a, type: RegularExpression, value: "("}]}]}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes := withLimits(t, c.limits, c.unknown)
			p := Offline(changes, WithGlobalRateLimits(true), WithFault(func(at, key string) {
				if c.panics && at == string(store.BackendTrafficPolicy) && key == "infra/local" {
					panic("made to")
				}
			}))
			if got := answered(t, p, "http://a.example/"); !strings.Contains(got, c.want) {
				t.Errorf("the Gateway answers %s, want %s", got, c.want)
			}
			if got := answered(t, p, "http://own.example/"); !strings.Contains(got, "v1") {
				t.Errorf("the route with limits of its own answers %s", got)
			}
		})
	}
}

// TestAPanicLosesNoLimits: the stage of a policy panics for a new version of it.
func TestAPanicLosesNoLimits(t *testing.T) {
	t.Parallel()
	const unread, ofRule = "spec.rateLimit", "spec.rateLimit.local.rules[0].newer"
	other := strings.Replace(localLimits, "5", "6", 1)
	for _, c := range []struct {
		name                       string
		before, unknownBefore      string
		after, unknownAfter, wants string
	}{
		{name: "the same limits", before: localLimits, after: localLimits, wants: "v1"},
		{name: "other limits", before: localLimits, after: other, wants: "error"},
		{name: "limits that are new", after: localLimits, wants: "error"},
		{name: "limits that are removed", before: localLimits, wants: "v1"},
		{name: "limits that cannot be read any more", before: localLimits, unknownAfter: unread, wants: "error"},
		{name: "new limits that cannot be read", unknownAfter: unread, wants: "error"},
		{name: "limits that could not be read before", unknownBefore: unread, unknownAfter: unread, wants: "error"},
		{name: "limits that can be read now", unknownBefore: unread, after: localLimits, wants: "error"},
		{name: "a rule with a new field", before: localLimits, after: localLimits, unknownAfter: ofRule, wants: "error"},
		{
			name: "a rule with a new field as before", before: localLimits, unknownBefore: ofRule, after: localLimits, unknownAfter: ofRule,
			wants: "error",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			panics := false
			p := Offline(withLimits(t, c.before, c.unknownBefore), WithGlobalRateLimits(true), WithFault(func(at, key string) {
				if panics && at == string(store.BackendTrafficPolicy) && key == "infra/local" {
					panic("made to")
				}
			}))
			panics = true
			for _, change := range withLimits(t, c.after, c.unknownAfter) {
				if change.Key == "infra/local" {
					change.Object.SetGeneration(2)
					p.Put(change)
				}
			}
			p.config.step()
			if got := answered(t, p, "http://a.example/"); !strings.Contains(got, c.wants) {
				t.Errorf("the Gateway answers %s, want %s", got, c.wants)
			}
		})
	}
}

// TestOnlyTheLimitsThatAreNotKnownAreClosed: the policy of which limits are not known is older than the one with global limits, which is
// in force, or says truly why it is not.
func TestOnlyTheLimitsThatAreNotKnownAreClosed(t *testing.T) {
	t.Parallel()
	const globalLimits = "rateLimit: {global: {rules: [{limit: {requests: 5, unit: Hour}}]}}"
	const loses = "infra/local targets the same Gateway infra/web and takes precedence, being older or first by name; " +
		"its rateLimit.global is not known"
	const closing = "so requests are answered with an error"
	for _, c := range []struct {
		name, limits, unknown string
		panics                bool
		// closed are the settings that are broken, all of the first policy. says is what the second policy says of it, empty for nothing.
		closed, says string
	}{
		{name: "a rule of local limits", limits: localLimits, unknown: "spec.rateLimit.local.rules[0].newer", closed: "rateLimit.local"},
		{name: "a panic with local limits", limits: localLimits, panics: true, closed: "rateLimit.local"},
		{
			name: "a rule of global limits", limits: globalLimits, unknown: "spec.rateLimit.global.rules[0].newer", closed: "rateLimit.global",
			says: loses,
		},
		{
			name: "a panic with global limits", limits: globalLimits, panics: true, closed: "rateLimit.global",
			says: loses,
		},
		{
			name: "all limits", unknown: "spec.rateLimit", closed: "rateLimit.local rateLimit.global",
			says: loses,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes := withLimits(t, c.limits, c.unknown)
			for _, change := range changes {
				if change.Key == "infra/global" {
					change.Object.SetCreationTimestamp(metav1.Unix(1, 0))
				}
			}
			p := Offline(changes, WithGlobalRateLimits(true), WithFault(func(at, key string) {
				if c.panics && at == string(store.BackendTrafficPolicy) && key == "infra/local" {
					panic("made to")
				}
			}))
			if got := strings.Join(brokenLimitsOf(t, p, "infra/local"), " "); got != c.closed {
				t.Errorf("%s closes %q, want %q", "infra/local", got, c.closed)
			}
			statuses := statusOf(p.graph)
			closes, _ := json.Marshal(statuses["BackendTrafficPolicy/infra/local"])
			if !strings.Contains(string(closes), closing) {
				t.Errorf("the policy does not say that it closes routes: %s", closes)
			}
			other, _ := json.Marshal(statuses["BackendTrafficPolicy/infra/global"])
			if strings.Contains(string(other), "infra/local") != (c.says != "") || !strings.Contains(string(other), c.says) {
				t.Errorf("the other policy says %s, want %q", other, c.says)
			}
		})
	}
}

// brokenLimitsOf are the settings that are broken for routes without a hostname. All are of one policy.
func brokenLimitsOf(t *testing.T, p *Pipeline, policy string) []string {
	t.Helper()
	var settings []string
	for _, id := range p.graph.hosts.Keys(nil) {
		host, _ := p.graph.hosts.Get(nil, id)
		if id.Domain != "*" {
			continue
		}
		own := host.PolicyOf(&host.Rules[0])
		if own.RateLimit != nil && own.RateLimit.Guard == ir.Broken {
			settings = append(settings, "rateLimit.local")
		}
		if own.GlobalRateLimit != nil && own.GlobalRateLimit.Guard == ir.Broken {
			settings = append(settings, "rateLimit.global")
		}
		for _, o := range own.Origins {
			if slices.Contains(settings, o.Setting) && o.Object.Name.String() != policy {
				t.Errorf("%s is of %s", o.Setting, o.Object.Name)
			}
		}
	}
	return settings
}
