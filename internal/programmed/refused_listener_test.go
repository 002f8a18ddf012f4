package programmed

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// quiet passes on the statuses of routes and Gateways, and ignores everything else that a pipeline sets.
type quiet struct{ last }

func (quiet) SetClass(string, outcome.Class)                  {}
func (quiet) ReleaseGateway(string, int64)                    {}
func (quiet) SetListenerSet(string, outcome.ListenerSet)      {}
func (quiet) WithdrawListenerSet(string, outcome.ListenerSet) {}
func (quiet) SetPolicy(store.Kind, string, outcome.Policy)    {}

type noFleets struct{}

func (noFleets) Set(ir.Gateway)              {}
func (noFleets) Freeze(ir.Gateway)           {}
func (noFleets) Release(ir.Name, ir.Fleet)   {}
func (noFleets) Delete(ir.Name)              {}
func (noFleets) Offer(_, _ string, _ []byte) {}
func (noFleets) Withdraw(string)             {}

type noSelectors struct{}

func (noSelectors) Set(ir.Selector)                  {}
func (noSelectors) Release(ir.BackendTarget, string) {}
func (noSelectors) Delete(ir.BackendTarget)          {}

// lastState is a cache that remembers the last state of the group of web.
type lastState struct {
	*xds.Cache
	mu    sync.Mutex
	state string
}

func (l *lastState) get() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

func (l *lastState) Apply(changes []xds.Change) map[xds.GroupID]string {
	states := l.Cache.Apply(changes)
	l.mu.Lock()
	defer l.mu.Unlock()
	if state, ok := states[webGroup]; ok {
		l.state = state
	}
	return states
}

const twoListeners = `
kind: GatewayClass
metadata: {name: gatewright}
spec: {controllerName: gatewright.dev/gateway-controller}
---
kind: Service
metadata: {namespace: shop, name: v1}
spec: {ports: [{name: http, port: 80}]}
---
kind: Gateway
metadata: {namespace: shop, name: web, generation: 1}
spec:
  gatewayClassName: gatewright
  listeners: [{name: a, port: 80, protocol: HTTP}, {name: b, port: 81, protocol: HTTP}]
---
kind: HTTPRoute
metadata: {namespace: shop, name: one, generation: 1}
spec: {parentRefs: [{name: web, sectionName: a}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: shop, name: two, generation: 1}
spec: {parentRefs: [{name: web, sectionName: b}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: shop, name: both, generation: 1}
spec: {parentRefs: [{name: web, sectionName: a}, {name: web, sectionName: b}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: shop, name: any, generation: 1}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`

// twoListenersOf is a pipeline with two listeners, before its first step.
func twoListenersOf(t *testing.T, r replica, l last) (*pipeline.Pipeline, *lastState) {
	t.Helper()
	r.Statuses.Statuses = quiet{l}
	proxies := &lastState{Cache: xds.NewCache()}
	p := pipeline.New(pipeline.Outputs{
		Proxies: proxies, Fleets: noFleets{}, Selectors: noSelectors{}, Statuses: r.Statuses, Convergence: r.Statuses, Peers: noFleets{},
	}, prometheus.NewRegistry())
	for _, c := range resolvetest.Load(t, twoListeners) {
		p.Put(c)
	}
	return p, proxies
}

var rejectedListener = xds.NACK{Type: xds.Listener, Name: "shop/web/81", Reason: "no such option"}

// expectNone expects that no route says that it is programmed.
func (l last) expectNone(t *testing.T) {
	t.Helper()
	for _, key := range []string{"one", "two", "both", "any"} {
		if got := l.state("shop/" + key); strings.Contains(got, "True") {
			t.Errorf("route %s is %q before the NACK is reported", key, got)
		}
	}
}

// expectOne expects that proxies reject the listener of route two.
func (l last) expectOne(t *testing.T) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	for key, want := range map[string]string{"one": "True/Programmed ", "two": "False/ListenerNotProgrammed "} {
		if got := l.state("shop/" + key); got != want {
			t.Errorf("route %s is %q after the NACK, want %q", key, got, want)
		}
	}
}

// TestNothingIsProgrammedWhileANACKIsNotReported has a proxy reject a listener and acknowledge the rest, before the next step begins.
func TestNothingIsProgrammedWhileANACKIsNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		p, proxies := twoListenersOf(t, r, l)
		p.Start()
		r.Connected(pod("a"))
		p.NACKed(pod("a"), rejectedListener)
		r.Holds(pod("a"), proxies.get())
		synctest.Wait()
		l.expectNone(t)
		go p.Run(t.Context())
		l.expectOne(t)
	})
}

// TestNothingIsProgrammedWhileANACKOfAnotherReplicaIsNotReported has a proxy of another replica reject a listener and acknowledge the rest
// before this one serves that state.
func TestNothingIsProgrammedWhileANACKOfAnotherReplicaIsNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		other, ignored := newReplica(t, "a")
		ahead, served := twoListenersOf(t, other, ignored)
		ahead.Start()

		r, l := newReplica(t, "a")
		p, _ := twoListenersOf(t, r, l)
		checks := 0
		r.OnReach(func() {
			if checks++; checks == 1 {
				p.NACKed(pod("a"), rejectedListener)
			}
		})
		r.PeerHolds("other", pod("a"), time.Now(), served.get(), false)
		p.Start()
		synctest.Wait()
		l.expectNone(t)
		go p.Run(t.Context())
		l.expectOne(t)
	})
}

// TestARouteIsProgrammedOnlyIfAListenerThatServesItIs has a proxy reject one of two listeners.
func TestARouteIsProgrammedOnlyIfAListenerThatServesItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		p, proxies := twoListenersOf(t, r, l)
		p.Start()
		put := func(text string) {
			for _, c := range resolvetest.Load(t, text) {
				p.Put(c)
			}
		}
		go p.Run(t.Context())
		r.Connected(pod("a"))
		expect := func(when string, want map[string]string) {
			t.Helper()
			time.Sleep(time.Second)
			r.Holds(pod("a"), proxies.get())
			synctest.Wait()
			for key, states := range want {
				if got := l.state("shop/" + key); got != states {
					t.Errorf("%s route %s is %q, want %q", when, key, got, states)
				}
			}
		}
		const yes, no = "True/Programmed ", "False/ListenerNotProgrammed "
		expect("at first", map[string]string{"one": yes, "two": yes, "both": yes + yes, "any": yes})

		p.NACKed(pod("a"), rejectedListener)
		expect("after the NACK", map[string]string{"one": yes, "two": no, "both": yes + no, "any": yes})
		for key, parent := range map[string]int{"two": 0, "both": 1, "any": 0} {
			conditions := l.route("shop/" + key).Parents[parent].Conditions
			got := conditions[len(conditions)-1].Message
			for _, part := range []string{"listener b of Gateway shop/web", "no such option", "see its conditions"} {
				if !strings.Contains(got, part) {
					t.Errorf("the message of %s is %q, without %q", key, got, part)
				}
			}
		}
		if !r.Live(store.HTTPRoute, "shop/two", web) {
			t.Error("proxies have acknowledged the rules of the route, and it does not count as live")
		}

		put(strings.NewReplacer("generation: 1", "generation: 2", "port: 81", "port: 82").Replace(strings.Split(twoListeners, "\n---\n")[2]))
		expect("with another port", map[string]string{"one": yes, "two": yes, "both": yes + yes, "any": yes})
	})
}
