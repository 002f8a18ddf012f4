package proof

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	web     = "shop/web"
	service = "shop/web-gatewright"
)

// last remembers the last that was said of each object.
type last struct {
	pipeline.Statuses
	routes   map[string]outcome.Route
	gateways map[string]outcome.Gateway
}

func (l last) SetRoute(_ store.Kind, key string, o outcome.Route) { l.routes[key] = o }
func (l last) SetGateway(key string, o outcome.Gateway)           { l.gateways[key] = o }
func (l last) Forget(_ store.Kind, key string)                    { delete(l.routes, key) }

func keeper(t *testing.T, ready ...string) (*Keeper, last) {
	t.Helper()
	l := last{routes: map[string]outcome.Route{}, gateways: map[string]outcome.Gateway{}}
	k := New(l, prometheus.NewRegistry())
	k.Fleet(ir.Gateway{Name: ir.ParseName(web)}, service)
	k.Endpoints("shop/slice", slice(ready...))
	return k, l
}

func slice(ready ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "slice",
		Labels: map[string]string{gatewayLabel: "web", discoveryv1.LabelServiceName: "web-gatewright"},
	}}
	for _, pod := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			TargetRef: &corev1.ObjectReference{Name: pod}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		})
	}
	return s
}

func route(generation int64) outcome.Route {
	return outcome.Route{Generation: generation, Parents: []outcome.Parent{{Gateway: web}, {}}}
}

func (l last) state(key string) string {
	o := l.routes[key]
	text := ""
	for _, p := range o.Parents {
		c := p.Conditions[len(p.Conditions)-1]
		text += fmt.Sprintf("%s/%s ", c.State, c.Reason)
	}
	return text
}

func (l last) expect(t *testing.T, key, want string) {
	t.Helper()
	if got := l.state(key); got != want+" False/NotAttached " {
		t.Errorf("%s is %q, want %q", key, got, want)
	}
}

func pod(name string) xds.Identity { return xds.Identity{Gateway: web, Pod: name} }

func TestARouteIsProgrammedWhenEveryReadyProxyHasItsState(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a", "b")
	k.Reach(map[string]string{web: "1"}, time.Now())
	k.SetRoute(store.HTTPRoute, "r", route(1))
	l.expect(t, "r", "Unsettled/Pending")
	for _, p := range []string{"a", "b", "unready"} {
		k.Connected(pod(p))
	}
	k.Holds(pod("a"), "1")
	k.follow()
	l.expect(t, "r", "Unsettled/Pending")
	k.Holds(pod("b"), "1")
	k.follow()
	l.expect(t, "r", "True/Programmed")

	k.Reach(map[string]string{web: "2"}, time.Now())
	k.SetRoute(store.HTTPRoute, "r", route(2))
	k.SetRoute(store.HTTPRoute, "new", route(1))
	l.expect(t, "r", "Unsettled/Pending")
	k.Reach(map[string]string{web: "3"}, time.Now())
	k.SetRoute(store.HTTPRoute, "newer", route(1))
	k.Holds(pod("a"), "3")
	k.Holds(pod("b"), "2")
	k.follow()
	l.expect(t, "r", "True/Programmed")
	l.expect(t, "new", "True/Programmed")
	l.expect(t, "newer", "Unsettled/Pending")

	k.Endpoints("shop/slice", slice("a"))
	k.follow()
	l.expect(t, "newer", "True/Programmed")
}

func TestAnOutcomeThatChangesNothingForProxiesIsProgrammedAtOnce(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a")
	k.Connected(pod("a"))
	k.Reach(map[string]string{web: "1"}, time.Now())
	k.Holds(pod("a"), "1")
	k.follow()
	k.Reach(nil, time.Now())
	k.SetRoute(store.HTTPRoute, "r", route(1))
	l.expect(t, "r", "True/Programmed")
}

func TestAGatewayWithNothingToServeIsProgrammedToo(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a")
	k.Reach(nil, time.Now())
	k.SetRoute(store.HTTPRoute, "r", route(1))
	k.Connected(pod("a"))
	k.follow()
	l.expect(t, "r", "Unsettled/Pending")
	k.Holds(pod("a"), xds.EmptyState)
	k.follow()
	l.expect(t, "r", "True/Programmed")
}

func TestProxiesOfAnotherReplicaCount(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a")
	k.Reach(map[string]string{web: "1"}, time.Now())
	k.SetRoute(store.HTTPRoute, "r", route(1))
	k.PeerHolds("other", pod("a"), time.Now(), "2", false) // it is ahead of this one
	k.follow()
	l.expect(t, "r", "Unsettled/Pending")
	k.Reach(map[string]string{web: "2"}, time.Now())
	l.expect(t, "r", "True/Programmed")
	k.PeerLeft("other")
	k.follow()
	l.expect(t, "r", "True/Programmed")
}

func TestWhatTakesLongIsSaid(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a", "b")
	k.Connected(pod("a"))
	k.Reach(map[string]string{web: "1"}, time.Now().Add(-2*lateAfter))
	k.Holds(pod("a"), "1")
	k.SetRoute(store.HTTPRoute, "r", route(1))
	k.checkLate()
	l.expect(t, "r", "False/Pending")
	want := "1 proxies of Gateway shop/web have not acknowledged this generation: b; see their logs and whether they reach Gatewright"
	if got := l.routes["r"].Parents[0].Conditions[0].Message; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if age := k.oldest(); age < 100 {
		t.Errorf("the oldest change is %v seconds old", age)
	}
}

func TestARefusedObjectSaysSoUntilItsNextGeneration(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a")
	k.Connected(pod("a"))
	k.Reach(map[string]string{web: "1"}, time.Now())
	k.SetRoute(store.HTTPRoute, "r", route(1))
	k.Refuse(store.HTTPRoute, "r", web, nil, "no such thing")
	l.expect(t, "r", "False/Refused")
	k.Holds(pod("a"), "1")
	k.follow()
	l.expect(t, "r", "False/Refused")
	if k.Live(store.HTTPRoute, "r", web) {
		t.Error("a refused route is live")
	}
	k.SetRoute(store.HTTPRoute, "r", route(1)) // with another message, say
	l.expect(t, "r", "False/Refused")
	k.SetRoute(store.HTTPRoute, "r", route(2))
	l.expect(t, "r", "True/Programmed")
	if !k.Live(store.HTTPRoute, "r", web) {
		t.Error("the route is not live")
	}
}

func TestAGatewayWaitsForItsProxiesAndARefusedListenerIsOnlyItself(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a")
	k.Connected(pod("a"))
	k.Reach(map[string]string{web: "1"}, time.Now())
	programmed := []outcome.Condition{{Type: "Programmed", State: outcome.True}}
	k.SetGateway(web, outcome.Gateway{Conditions: programmed, Listeners: []outcome.Listener{{Name: "x", Conditions: programmed}, {Name: "y", Conditions: programmed}}})
	states := func() string {
		g := l.gateways[web]
		return fmt.Sprint(g.Conditions[0].State, " ", g.Listeners[0].Conditions[0].State, " ", g.Listeners[1].Conditions[0].State)
	}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"before its proxies have acknowledged", func() {}, "Unsettled Unsettled Unsettled"},
		{"when they have", func() { k.Holds(pod("a"), "1"); k.follow() }, "True True True"},
		{"when a listener is refused", func() { k.Refuse(store.Gateway, web, web, []string{"y"}, "no such port") }, "True True False"},
		{"when that is over", func() { k.Accept(store.Gateway, web, web) }, "True True True"},
	} {
		step.do()
		if got := states(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

// A route is edited and edited back. The proxy had the state, has been sent another one since, and has not come back to it yet.
func TestAStateThatCameBackCountsOnlyForProxiesThatHaveItStill(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		peer bool
	}{{"a proxy of this replica", false}, {"a proxy of another replica", true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k, l := keeper(t, "a")
			holds := func(state string, left bool) {
				switch {
				case test.peer:
					k.PeerHolds("other", pod("a"), time.Now(), state, left)
				case left:
					k.Leaves(pod("a"))
				default:
					k.Holds(pod("a"), state)
				}
				k.follow()
			}
			if !test.peer {
				k.Connected(pod("a"))
			}
			k.Reach(map[string]string{web: "1"}, time.Now())
			k.SetRoute(store.HTTPRoute, "r", route(1))
			holds("1", false)
			l.expect(t, "r", "True/Programmed")
			k.Reach(map[string]string{web: "2"}, time.Now())
			k.SetRoute(store.HTTPRoute, "r", route(2))
			holds("1", true)
			k.Reach(map[string]string{web: "1"}, time.Now())
			k.SetRoute(store.HTTPRoute, "r", route(3))
			l.expect(t, "r", "Unsettled/Pending")
			holds("1", false)
			l.expect(t, "r", "True/Programmed")
		})
	}
}

func TestAPolicyIsToldWhatProxiesRefuseOfIt(t *testing.T) {
	t.Parallel()
	policies := map[string]outcome.Policy{}
	k := New(policyNotes{policies: policies}, prometheus.NewRegistry())
	namespace := "shop"
	k.SetPolicy(store.XBackend, "shop/x", outcome.Policy{Ancestors: []outcome.Parent{{Ref: outcome.ParentRef{Namespace: &namespace, Name: "web"}}}})
	k.Refuse(store.XBackend, "shop/x", web, nil, "no such thing")
	if got := policies["shop/x"].Ancestors[0].Conditions; len(got) != 1 || got[0].State != outcome.False || got[0].Message != "no such thing" {
		t.Errorf("got %+v", got)
	}
	k.Accept(store.XBackend, "shop/x", web)
	if got := policies["shop/x"].Ancestors[0].Conditions; len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

type policyNotes struct {
	pipeline.Statuses
	policies map[string]outcome.Policy
}

func (p policyNotes) SetPolicy(_ store.Kind, key string, o outcome.Policy) { p.policies[key] = o }

// A proxy that restarts connects to another replica, and the first one has not noticed yet.
func TestAProxyCountsByTheReplicaThatItConnectedToLast(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a")
	k.Reach(map[string]string{web: "1"}, time.Now())
	k.PeerHolds("first", pod("a"), time.Now().Add(-time.Minute), "1", false)
	k.Connected(pod("a"))
	k.SetRoute(store.HTTPRoute, "r", route(1))
	k.follow()
	l.expect(t, "r", "Unsettled/Pending")
	k.PeerHolds("second", pod("a"), time.Now().Add(time.Second), "1", false)
	k.follow()
	l.expect(t, "r", "Unsettled/Pending")
	k.PeerHolds("second", pod("a"), time.Now().Add(time.Minute), "1", false)
	k.follow()
	l.expect(t, "r", "True/Programmed")
}

// A proxy restarts and connects to the same replica, which has not noticed yet that the stream before is over.
func TestWhatAProxyHadBeforeItConnectedAgainDoesNotCount(t *testing.T) {
	t.Parallel()
	k, l := keeper(t, "a")
	k.Connected(pod("a"))
	k.Reach(map[string]string{web: "1"}, time.Now())
	k.Holds(pod("a"), "1")
	k.Connected(pod("a"))
	k.SetRoute(store.HTTPRoute, "r", route(1))
	k.follow()
	l.expect(t, "r", "Unsettled/Pending")
	k.Disconnected(pod("a"))
	k.Holds(pod("a"), "1")
	k.follow()
	l.expect(t, "r", "True/Programmed")
}
