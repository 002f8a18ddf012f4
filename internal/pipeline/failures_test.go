package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// witness writes down every object that says it could not be processed.
type witness struct {
	recorder
	broken map[string]bool
}

func (w *witness) note(kind, key string, conditions []outcome.Condition) {
	delete(w.broken, kind+" "+key)
	for _, c := range conditions {
		if c.Reason == outcome.InternalError {
			w.broken[kind+" "+key] = true
		}
	}
}

func (w *witness) SetGateway(key string, o outcome.Gateway) { w.note("Gateway", key, o.Conditions) }

func (w *witness) SetRoute(kind store.Kind, key string, o outcome.Route) {
	w.recorder.SetRoute(kind, key, o)
	var all []outcome.Condition
	for _, parent := range o.Parents {
		all = append(all, parent.Conditions...)
	}
	w.note(string(kind), key, all)
}

func (w *witness) Reject(kind store.Kind, key, _ string, r outcome.Rejection) {
	if strings.Contains(r.Message, "Gatewright failed to process this") {
		w.broken[string(kind)+" "+key] = true
	}
}

func (w *witness) Accept(kind store.Kind, key, _ string) { delete(w.broken, string(kind)+" "+key) }

const twoTenants = base + `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: Gateway
metadata: {namespace: infra, name: other, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: BackendTLSPolicy
metadata: {namespace: infra, name: p, generation: 1}
spec: {targetRefs: [{group: "", kind: Service, name: v1}], validation: {hostname: v1.example.com, wellKnownCACertificates: System}}
---
` + `
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: 1}
spec:
  parentRefs: [{name: web}]
  hostnames: [r.example.com]
  rules: [{matches: [{path: {value: /first}}], backendRefs: [{name: v1, port: 80}]}]
`

func neighbour(generation int) string {
	return fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: s, generation: %d}
spec:
  parentRefs: [{name: other}]
  rules: [{matches: [{path: {value: /%d}}], backendRefs: [{name: v2, port: 80}]}]
`, generation, generation)
}

// TestAPanicStaysWithTheObjectThatCausedIt has each stage panic for what is computed from one tenant's objects.
func TestAPanicStaysWithTheObjectThatCausedIt(t *testing.T) {
	t.Parallel()
	const mine, policy, host = "Gateway infra/web", "BackendTLSPolicy infra/p", "HTTPRoute infra/r"
	for stage, reports := range map[string]string{
		stageGateway: mine, stageStatus: mine, stagePort: mine, stageListener: mine, stageTableListeners: mine, stageTracing: mine,
		stageRoute: host, stageRouteConflict: host, stageVirtualHost: host, stageHostProto: host,
		stageBackendTLS: host, stageGatewayTLS: host, stageClusterProto: host, stageCluster: host,
		stagePolicyStatus: policy,
		stageParent:       "", stagePatches: "",
	} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			w := &witness{recorder: recorder{offers: map[string][]byte{}}, broken: map[string]bool{}}
			out, registry := discardAll(), prometheus.NewRegistry()
			out.Statuses, out.Convergence, out.Peers = w, w, w
			armed := false
			p := New(out, registry, WithFault(func(at, key string) {
				if armed && at == stage &&
					(strings.Contains(key, "infra/web") || strings.Contains(key, "infra/r") || strings.Contains(key, "infra/p") || strings.Contains(key,
						"infra/v1")) {
					panic("made to")
				}
			}))
			put(t, p, twoTenants+"---"+neighbour(1))
			p.Start()
			expect := func(when string, want ...string) {
				t.Helper()
				got := slices.DeleteFunc(served(p, "infra/other"), func(path string) bool { return path == "" })
				if !slices.Equal(got, want) {
					t.Errorf("%s: the other tenant serves %q, want %q", when, got, want)
				}
			}
			expect("at first", "/1")

			armed = true
			touch := func(generation int) {
				put(t, p, strings.NewReplacer(
					"generation: 1",
					fmt.Sprintf("generation: %d", generation),
					"/first",
					fmt.Sprintf("/r%d", generation),
					"hostname: v1",
					fmt.Sprintf("hostname: v%d", generation),
					"port: 80, protocol",
					fmt.Sprintf("port: %d, protocol", 80+generation),
				).Replace(twoTenants)+"---"+neighbour(generation))
				p.config.step()
			}
			touch(2)
			expect("beside a panic", "/2")
			if n := testutil.ToFloat64(p.metrics.panics.WithLabelValues(stage)); n == 0 {
				t.Fatal("nothing panicked")
			}
			if reports != "" && !w.broken[reports] {
				t.Errorf("%s does not say that it could not be processed; those that do: %v", reports, w.broken)
			}

			armed = false
			touch(3)
			expect("after it", "/3")
			if len(w.broken) != 0 {
				t.Errorf("still said to be broken: %v", w.broken)
			}
			if got := served(p, "infra/web"); !slices.Contains(got, "/r3") {
				t.Errorf("the route serves %q when nothing panics any more", got)
			}
		})
	}
}

// held writes down which fleets are to stay as they are.
type held struct {
	Fleets
	gateways []ir.Gateway
}

func (h *held) Set(ir.Gateway)            {}
func (h *held) Freeze(gateway ir.Gateway) { h.gateways = append(h.gateways, gateway) }
func (h *held) Release(ir.Name, ir.Fleet) {}
func (h *held) Delete(ir.Name)            {}

// A replica that starts does not know what a Gateway was before its stage panicked. The proxies keep what they have.
func TestAPanicAtTheStartTakesNothingFromProxies(t *testing.T) {
	t.Parallel()
	out, fleets := discardAll(), &held{}
	out.Fleets = fleets
	p := New(out, prometheus.NewRegistry(), WithFault(func(stage, key string) {
		if stage == stageGateway && key == "infra/web" || stage == stageRoute && strings.HasSuffix(key, "infra/s") {
			panic("made to")
		}
	}))
	put(t, p, twoTenants+"---"+neighbour(1))
	p.Start()
	if len(fleets.gateways) != 1 || fleets.gateways[0].Name.Name != "web" || !fleets.gateways[0].Fleet.Suspended {
		t.Errorf("held: %+v", fleets.gateways)
	}
	// Nor does a wider route take the requests of a route.
	if got := served(p, "infra/other"); !slices.Equal(got, []string{"/1 500"}) {
		t.Errorf("the other Gateway serves %q", got)
	}
}

func TestEveryStageHasANotice(t *testing.T) {
	t.Parallel()
	g := newGraph()
	for _, stage := range g.memo.Stages() {
		reported := stageNotices[stage] != nil
		policy := slices.ContainsFunc(g.policyOutcomes, func(p policyOutcomes) bool { return slices.Contains(p.stages, stage) })
		unreported := unreportedStages[stage] != ""
		if count := len(slices.DeleteFunc([]bool{reported, policy, unreported}, func(is bool) bool { return !is })); count != 1 {
			t.Errorf("stage %q is in %d of stageNotices, addPolicies and unreportedStages; it needs one", stage, count)
		}
	}
}

// TestAPanicBringsNoSecretBack has a Secret change, and the stage of its route panic. Who knows only the old value must not pass.
func TestAPanicBringsNoSecretBack(t *testing.T) {
	t.Parallel()
	for name, c := range secretSettings {
		if c.other == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, armed := &recorder{live: true, offers: map[string][]byte{}}, false
			out := discardAll()
			out.Statuses, out.Convergence, out.Peers = l, l, l
			p := New(out, prometheus.NewRegistry(), WithFault(func(stage, key string) {
				if armed && stage == stageRoute && strings.Contains(key, "infra/r") {
					panic("made to")
				}
			}))
			put(t, p, base+`
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---`+withSecret(c.settings, c.secret)+"---"+aRoute(1, "/good"))
			p.Start()
			l.serves(t, p, "infra/web", "/good")
			armed = true
			put(t, p, strings.Replace(withSecret(c.settings, c.secret), "policy-data: \"\"}", "policy-data: \"\", a: b}", 1))
			p.config.step()
			l.serves(t, p, "infra/web", "/good")
			put(t, p, withSecret(c.settings, c.other))
			p.config.step()
			l.serves(t, p, "infra/web", "/good 500")
		})
	}
}
