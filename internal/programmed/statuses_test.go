package programmed

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/convergence"
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

// webGroup is the group of the proxies of web.
var webGroup = xds.GroupID{Namespace: "shop", Name: "web"}

// last remembers the last status of each object. It is locked, because a timer of the tracker can change it while a test sleeps.
type last struct {
	pipeline.Statuses
	mu       *sync.Mutex
	routes   map[string]outcome.Route
	gateways map[string]outcome.Gateway
}

func (l last) SetRoute(_ store.Kind, key string, o outcome.Route) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.routes[key] = o
}

func (l last) SetGateway(key string, o outcome.Gateway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gateways[key] = o
}

func (l last) Forget(_ store.Kind, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.routes, key)
}

func (l last) route(key string) outcome.Route {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.routes[key]
}

func (l last) gateway(key string) outcome.Gateway {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gateways[key]
}

// replica is what a Statuses and its tracker hear of.
type replica struct {
	*Statuses
	events
}

type events interface {
	xds.Observer
	Fleet(gateway ir.Gateway, service string)
	Endpoints(key string, slice *discoveryv1.EndpointSlice)
	PeerHolds(replica string, proxy xds.Identity, connected time.Time, state string, left bool)
	PeerLeft(replica string)
	ReportFleetError(fleet ir.Name, err error)
}

// tracked is a tracker that ignores NACKs, as in production.
type tracked struct{ *convergence.Tracker }

func (tracked) NACKed(xds.Identity, xds.NACK) {}

// newReplica returns a replica whose tracker runs until the test ends.
func newReplica(t *testing.T, ready ...string) (replica, last) {
	t.Helper()
	l := last{mu: &sync.Mutex{}, routes: map[string]outcome.Route{}, gateways: map[string]outcome.Gateway{}}
	tracker := convergence.New(prometheus.NewRegistry())
	r := replica{New(tracker, l), tracked{tracker}}
	go tracker.Run(t.Context())
	r.Fleet(ir.Gateway{Name: ir.ParseName(web)}, service)
	r.Endpoints("shop/slice", slice(ready...))
	return r, l
}

func slice(ready ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "slice",
		Labels: map[string]string{gwv1.GatewayNameLabelKey: "web", discoveryv1.LabelServiceName: "web-gatewright"},
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
	o := l.route(key)
	text := ""
	for _, p := range o.Parents {
		c := p.Conditions[len(p.Conditions)-1]
		text += fmt.Sprintf("%s/%s ", c.State, c.Reason)
	}
	return text
}

func (l last) expect(t *testing.T, key, want string) {
	t.Helper()
	synctest.Wait()
	if got := l.state(key); got != want+" False/NotAttached " {
		t.Errorf("%s is %q, want %q", key, got, want)
	}
}

func pod(name string) xds.Identity { return xds.Identity{Group: webGroup, Pod: name} }

func TestARouteIsProgrammedWhenEveryReadyProxyHasItsState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a", "b")
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		r.SetRoute(store.HTTPRoute, "r", route(1))
		l.expect(t, "r", "Unsettled/Pending")
		for _, p := range []string{"a", "b", "unready"} {
			r.Connected(pod(p))
		}
		r.Holds(pod("a"), "1")
		synctest.Wait()
		l.expect(t, "r", "Unsettled/Pending")
		r.Holds(pod("b"), "1")
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")

		r.Reach(map[xds.GroupID]string{webGroup: "2"}, time.Now())
		r.SetRoute(store.HTTPRoute, "r", route(2))
		r.SetRoute(store.HTTPRoute, "new", route(1))
		l.expect(t, "r", "Unsettled/Pending")
		r.Reach(map[xds.GroupID]string{webGroup: "3"}, time.Now())
		r.SetRoute(store.HTTPRoute, "newer", route(1))
		r.Holds(pod("a"), "3")
		r.Holds(pod("b"), "2")
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")
		l.expect(t, "new", "True/Programmed")
		l.expect(t, "newer", "Unsettled/Pending")

		r.Endpoints("shop/slice", slice("a"))
		synctest.Wait()
		l.expect(t, "newer", "True/Programmed")
	})
}

func TestAnOutcomeThatChangesNothingForProxiesIsProgrammedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		r.Connected(pod("a"))
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		r.Holds(pod("a"), "1")
		synctest.Wait()
		r.Reach(nil, time.Now())
		r.SetRoute(store.HTTPRoute, "r", route(1))
		l.expect(t, "r", "True/Programmed")
	})
}

func TestAGatewayWithNothingToServeIsProgrammedToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		r.Reach(nil, time.Now())
		r.SetRoute(store.HTTPRoute, "r", route(1))
		r.Connected(pod("a"))
		synctest.Wait()
		l.expect(t, "r", "Unsettled/Pending")
		r.Holds(pod("a"), xds.EmptyState)
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")
	})
}

func TestProxiesOfAnotherReplicaCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		r.SetRoute(store.HTTPRoute, "r", route(1))
		r.PeerHolds("other", pod("a"), time.Now(), "2", false) // it is ahead of this one
		synctest.Wait()
		l.expect(t, "r", "Unsettled/Pending")
		r.Reach(map[xds.GroupID]string{webGroup: "2"}, time.Now())
		l.expect(t, "r", "True/Programmed")
		r.PeerLeft("other")
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")
	})
}

func TestWhatTakesLongIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a", "b")
		r.Connected(pod("a"))
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now().Add(-2*time.Minute))
		r.Holds(pod("a"), "1")
		r.SetRoute(store.HTTPRoute, "r", route(1))
		time.Sleep(5 * time.Second) // until it is checked what is late
		l.expect(t, "r", "False/Pending")
		want := "1 proxies of Gateway shop/web have not acknowledged this generation: b; see their logs and whether they reach Gatewright"
		if got := l.route("r").Parents[0].Conditions[0].Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestARefusedObjectSaysSoUntilItsNextGeneration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		r.Connected(pod("a"))
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		r.SetRoute(store.HTTPRoute, "r", route(1))
		r.Reject(store.HTTPRoute, "r", web, outcome.Rejection{Message: "no such thing"})
		l.expect(t, "r", "False/Refused")
		r.Holds(pod("a"), "1")
		synctest.Wait()
		l.expect(t, "r", "False/Refused")
		if r.Live(store.HTTPRoute, "r", web) {
			t.Error("a refused route is live")
		}
		r.SetRoute(store.HTTPRoute, "r", route(1)) // with another message, say
		l.expect(t, "r", "False/Refused")
		r.SetRoute(store.HTTPRoute, "r", route(2))
		l.expect(t, "r", "True/Programmed")
		if !r.Live(store.HTTPRoute, "r", web) {
			t.Error("the route is not live")
		}
	})
}

func TestAGatewayWaitsForItsProxiesAndARefusedListenerIsOnlyItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		r.Connected(pod("a"))
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		programmed := []outcome.Condition{{Type: "Programmed", State: outcome.True}}
		r.SetGateway(
			web,
			outcome.Gateway{
				Conditions: programmed, Listeners: []outcome.Listener{{Name: "x", Conditions: programmed}, {Name: "y", Conditions: programmed}},
			},
		)
		states := func() string {
			g := l.gateway(web)
			return fmt.Sprint(g.Conditions[0].State, " ", g.Listeners[0].Conditions[0].State, " ", g.Listeners[1].Conditions[0].State)
		}
		for _, step := range []struct {
			name string
			do   func()
			want string
		}{
			{"before its proxies have acknowledged", func() {}, "Unsettled Unsettled Unsettled"},
			{"when they have", func() { r.Holds(pod("a"), "1"); synctest.Wait() }, "True True True"},
			{"when a listener is refused", func() {
				r.Reject(store.Gateway, web, web, outcome.Rejection{Listeners: map[string]string{"y": "no such port"}})
			}, "True True False"},
			{"when that is over", func() { r.Accept(store.Gateway, web, web) }, "True True True"},
		} {
			step.do()
			if got := states(); got != step.want {
				t.Errorf("%s: %s, want %s", step.name, got, step.want)
			}
		}
	})
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
			synctest.Test(t, func(t *testing.T) {
				r, l := newReplica(t, "a")
				holds := func(state string, left bool) {
					switch {
					case test.peer:
						r.PeerHolds("other", pod("a"), time.Now(), state, left)
					case left:
						r.Leaves(pod("a"))
					default:
						r.Holds(pod("a"), state)
					}
					synctest.Wait()
				}
				if !test.peer {
					r.Connected(pod("a"))
				}
				r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
				r.SetRoute(store.HTTPRoute, "r", route(1))
				holds("1", false)
				l.expect(t, "r", "True/Programmed")
				r.Reach(map[xds.GroupID]string{webGroup: "2"}, time.Now())
				r.SetRoute(store.HTTPRoute, "r", route(2))
				holds("1", true)
				r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
				r.SetRoute(store.HTTPRoute, "r", route(3))
				l.expect(t, "r", "Unsettled/Pending")
				holds("1", false)
				l.expect(t, "r", "True/Programmed")
			})
		})
	}
}

func TestAPolicyReportsWhatProxiesRejectOfIt(t *testing.T) {
	t.Parallel()
	policies := map[string]outcome.Policy{}
	s := New(convergence.New(prometheus.NewRegistry()), policyNotes{policies: policies})
	namespace := "shop"
	s.SetPolicy(
		store.XBackend, "shop/x", outcome.Policy{Ancestors: []outcome.Parent{{Ref: outcome.ParentRef{Namespace: &namespace, Name: "web"}}}},
	)
	s.Reject(store.XBackend, "shop/x", web, outcome.Rejection{Message: "no such thing"})
	if got := policies["shop/x"].Ancestors[0].Conditions; len(got) != 1 || got[0].State != outcome.False || got[0].Message != "no such thing" {
		t.Errorf("got %+v", got)
	}
	s.Accept(store.XBackend, "shop/x", web)
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
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		r.PeerHolds("first", pod("a"), time.Now().Add(-time.Minute), "1", false)
		r.Connected(pod("a"))
		r.SetRoute(store.HTTPRoute, "r", route(1))
		synctest.Wait()
		l.expect(t, "r", "Unsettled/Pending")
		r.PeerHolds("second", pod("a"), time.Now().Add(time.Second), "1", false)
		synctest.Wait()
		l.expect(t, "r", "Unsettled/Pending")
		r.PeerHolds("second", pod("a"), time.Now().Add(time.Minute), "1", false)
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")
	})
}

// A proxy restarts and connects to the same replica, which has not noticed yet that the stream before is over.
func TestWhatAProxyHadBeforeItConnectedAgainDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l := newReplica(t, "a")
		r.Connected(pod("a"))
		r.Reach(map[xds.GroupID]string{webGroup: "1"}, time.Now())
		r.Holds(pod("a"), "1")
		r.Connected(pod("a"))
		r.SetRoute(store.HTTPRoute, "r", route(1))
		synctest.Wait()
		l.expect(t, "r", "Unsettled/Pending")
		r.Disconnected(pod("a"))
		r.Holds(pod("a"), "1")
		synctest.Wait()
		l.expect(t, "r", "True/Programmed")
	})
}
