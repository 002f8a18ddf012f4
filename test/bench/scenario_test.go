//go:build bench

package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/live"
)

// What every namespace has: a Gateway; a Service that the routes send to; one whose endpoint moves, with a route; and one whose
// endpoint moves while others are measured.
const (
	gatewayName   = "gateway"
	steadyService = "steady"
	movedService  = "moved"
	churnService  = "churn"
	movedHost     = "moved.bench.example.com"
)

// scenario is what is measured: Gateways with routes.
type scenario struct {
	tenants []*tenant
	// pods answer everything.
	pods    []corev1.Pod
	ask     *prober
	watcher *watcher
	// routes is how many there are, of those that are only there to be many.
	routes int
	// empty is what the proxies took before that.
	empty live.Usage
}

// tenant is a namespace with a Gateway.
type tenant struct {
	*live.Fixture
	gateway *gwv1.Gateway
	address string
	// moved and churned are behind the Services of that name.
	moved, churned *discoveryv1.EndpointSlice
	// attached is how many routes the Gateway has.
	attached int
}

func newScenario(t *testing.T, gateways int) *scenario {
	t.Helper()
	s := &scenario{ask: newProber()}
	for i := range gateways {
		w := live.New(t)
		remember(w)
		if i == 0 {
			waitAlone(t, w)
			s.pods = w.Echo(t, "echo", 2)
			s.watcher = newWatcher(t, w)
		}
		s.watcher.own(w.Namespace)
		s.tenants = append(s.tenants, s.newTenant(t, w))
	}
	for _, tenant := range s.tenants {
		tenant.address = tenant.WaitProgrammed(t, tenant.gateway)
		tenant.WaitServed(t, tenant.address, movedHost)
	}
	s.waitAttached(t)
	progress("%d Gateways serve", gateways)
	s.empty = live.UsageOf(t, s.proxies(t))
	return s
}

// waitAlone waits until what earlier tests have deleted is gone: a Gateway that goes is work for controllers, which would be counted here.
func waitAlone(t *testing.T, w *live.Fixture) {
	t.Helper()
	live.Eventually(t, 5*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		var namespaces corev1.NamespaceList
		if err := w.List(ctx, &namespaces); err != nil {
			return fmt.Errorf("list the namespaces: %w", err)
		}
		for i := range namespaces.Items {
			if namespaces.Items[i].DeletionTimestamp != nil {
				return fmt.Errorf("namespace %s is being deleted", namespaces.Items[i].Name)
			}
		}
		return nil
	})
}

func (s *scenario) newTenant(t *testing.T, w *live.Fixture) *tenant {
	t.Helper()
	first := s.pods[0].Status.PodIP
	tenant := &tenant{Fixture: w, moved: live.EndpointSlice(movedService, first), churned: live.EndpointSlice(
		churnService, first,
	), attached: 1}
	w.Make(t,
		live.ManualService(steadyService), live.EndpointSlice(steadyService, first),
		live.ManualService(movedService), tenant.moved,
		live.ManualService(churnService), tenant.churned,
		// A Gateway that begins without routes may be told differently for a while after the first.
		live.HTTPRoute("moved", gatewayName, movedHost, movedService),
	)
	// Many routes go before the namespace does, so that what is measured next does not pay for it.
	t.Cleanup(func() { removeRoutes(t, w) })
	tenant.gateway = &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayName},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: gwv1.ObjectName(*class),
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		},
	}
	w.Make(t, tenant.gateway)
	return tenant
}

// removeRoutes deletes all routes of a namespace. The API server may not manage that within the time of one request.
func removeRoutes(t *testing.T, w *live.Fixture) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // the test's own context is over by now
	defer cancel()
	for {
		err := w.DeleteAllOf(ctx, &gwv1.HTTPRoute{}, client.InNamespace(w.Namespace))
		if err == nil {
			return
		}
		progress("deleting routes goes on after: %v", err)
		select {
		case <-ctx.Done():
			t.Errorf("delete the routes of %s: %v", w.Namespace, err)
			return
		case <-time.After(time.Second):
		}
	}
}

// of is the tenant that the i-th of something belongs to.
func (s *scenario) of(i int) *tenant { return s.tenants[i%len(s.tenants)] }

func hostOf(i int) string { return fmt.Sprintf("route-%05d.bench.example.com", i) }

func (s *scenario) route(i int) *gwv1.HTTPRoute {
	route := live.HTTPRoute(fmt.Sprintf("route-%05d", i), gatewayName, hostOf(i), steadyService)
	route.Namespace = s.of(i).Namespace
	return route
}

// Routes that are being created are asked for several at the same time, and not too often, since they are created meanwhile.
const (
	checkers  = 4
	fillPause = 10 * time.Millisecond
)

// fill creates routes until there are n, and waits for all of them: each is asked for from its creation on.
func (s *scenario) fill(t *testing.T, n int) figures.Fill {
	t.Helper()
	f := figures.Fill{From: s.routes, Added: n - s.routes}
	routeWrites, gatewayWrites := s.watcher.writes("HTTPRoute"), s.watcher.writes("Gateway")
	cpu := live.UsageOf(t, s.controllers(t)).CPU
	for i := s.routes; i < n; i++ {
		s.of(i).attached++
	}
	created := make(chan int, f.Added)
	results := make(chan figures.Probe, checkers)
	var serving atomic.Int64
	for range checkers {
		go func() { results <- s.check(t, created, &serving) }()
	}
	shown := every(showEvery, func() { progress("%d of %d routes serve", serving.Load(), f.Added) })
	start := time.Now()
	s.tenants[0].MakeMany(t, f.Added, func(i int) client.Object {
		created <- s.routes + i
		return s.route(s.routes + i)
	})
	f.Written = time.Since(start).Seconds()
	close(created)
	for range checkers {
		f.Wrong = merged(f.Wrong, (<-results).Wrong)
	}
	f.Serving = time.Since(start).Seconds()
	shown()
	if t.Failed() {
		t.FailNow()
	}
	s.waitAttached(t)
	f.Settled = time.Since(start).Seconds()
	s.waitAnswered(t, n)
	f.Answered = time.Since(start).Seconds()
	s.quiet(t)
	f.RouteStatusWrites = s.watcher.writes("HTTPRoute") - routeWrites
	f.GatewayStatusWrites = s.watcher.writes("Gateway") - gatewayWrites
	f.ControllerCPU = (live.UsageOf(t, s.controllers(t)).CPU - cpu).Seconds()
	s.routes = n
	return f
}

// check waits for routes to be served, one after the other.
func (s *scenario) check(t *testing.T, created <-chan int, serving *atomic.Int64) figures.Probe {
	var p figures.Probe
	for i := range created {
		if err := s.ask.untilEvery(t.Context(), fillPause, appears(s.of(i).address, hostOf(i)), &p); err != nil {
			t.Error(err)
			break
		}
		serving.Add(1)
	}
	return p
}

func (s *scenario) waitAttached(t *testing.T) {
	t.Helper()
	want := map[string]int{}
	for _, tenant := range s.tenants {
		want[tenant.Namespace] = tenant.attached
	}
	live.Eventually(t, 5*time.Minute, 5*time.Millisecond, func(context.Context) error { return s.watcher.attachedRight(want) })
}

// waitAnswered waits until every route has a status.
func (s *scenario) waitAnswered(t *testing.T, n int) {
	t.Helper()
	var keys []string
	for i := s.routes; i < n; i++ {
		keys = append(keys, client.ObjectKeyFromObject(s.route(i)).String())
	}
	live.Eventually(t, 5*time.Minute, 200*time.Millisecond, func(context.Context) error {
		if missing := s.watcher.unanswered(keys); missing > 0 {
			return fmt.Errorf("%d of %d routes have no status", missing, len(keys))
		}
		return nil
	})
}

// quiet waits until no status is written.
func (s *scenario) quiet(t *testing.T) {
	t.Helper()
	const quietPeriod = 500 * time.Millisecond
	count := func() int { return s.watcher.writes("HTTPRoute") + s.watcher.writes("Gateway") }
	last := count()
	live.Eventually(t, 5*time.Minute, quietPeriod, func(context.Context) error {
		before := last
		if last = count(); last != before {
			return fmt.Errorf("%d statuses were written", last-before)
		}
		return nil
	})
}

// controllers are the pods of the implementation's control plane.
func (s *scenario) controllers(t *testing.T) []corev1.Pod {
	t.Helper()
	namespace, selector, _ := strings.Cut(*control, "/")
	return s.podsOf(t, namespace, selector)
}

// proxies are the pods of all Gateways.
func (s *scenario) proxies(t *testing.T) []corev1.Pod {
	t.Helper()
	var all []corev1.Pod
	for _, tenant := range s.tenants {
		namespace := tenant.Namespace
		if *proxiesIn != "" {
			namespace = *proxiesIn
		}
		all = append(all, s.podsOf(t, namespace, *proxyLabel+"="+gatewayName)...)
	}
	return all
}

func (s *scenario) podsOf(t *testing.T, namespace, selector string) []corev1.Pod {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatalf("labels of pods: %v", err)
	}
	var pods corev1.PodList
	if err := s.tenants[0].List(
		t.Context(), &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: parsed},
	); err != nil || len(pods.Items) == 0 {
		t.Fatalf("find the pods in %s with %s: %d, %v", namespace, selector, len(pods.Items), err)
	}
	return pods.Items
}

// move puts the other pod behind a Service.
func (s *scenario) move(ctx context.Context, w *live.Fixture, slice *discoveryv1.EndpointSlice) error {
	slice.Endpoints[0].Addresses = []string{s.other(slice.Endpoints[0].Addresses[0]).Status.PodIP}
	if err := w.Update(ctx, slice); err != nil {
		return fmt.Errorf("move the endpoint of %s: %w", slice.Name, err)
	}
	return nil
}

// other is the pod that does not have an address.
func (s *scenario) other(address string) *corev1.Pod {
	if s.pods[0].Status.PodIP == address {
		return &s.pods[1]
	}
	return &s.pods[0]
}

// showEvery is how often a long step says that it is still at work.
const showEvery = 10 * time.Second

var began = time.Now()

// progress says what is being done, and when.
func progress(format string, arguments ...any) {
	fmt.Printf("%7.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, arguments...))
}

// every does something again and again until it is stopped.
func every(pause time.Duration, do func()) (stop func()) {
	done, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				do()
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

func merged(into, more map[string]int) map[string]int {
	if into == nil && len(more) > 0 {
		into = map[string]int{}
	}
	for reason, n := range more {
		into[reason] += n
	}
	return into
}
