package status

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// bench is a Writer on a fake cluster that counts what is sent. It lives in a synctest bubble: time passes at once when nothing is left
// to do.
type bench struct {
	*Writer
	cluster client.Client
	metrics *prometheus.Registry
	log     bytes.Buffer
	sent    atomic.Int32
	// fail, if set, is asked before each write.
	fail func(attempt int32) error
	stop context.CancelFunc
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(store.AddToScheme(scheme), eventsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := &bench{metrics: prometheus.NewRegistry()}
	b.cluster = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(
				ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
			) error {
				attempt := b.sent.Add(1)
				if b.fail != nil {
					if err := b.fail(attempt); err != nil {
						return err
					}
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	b.Writer = NewWriter(Options{
		Reader: b.cluster, Client: b.cluster, Controller: ours, Metrics: b.metrics, Workers: 2,
		Log: slog.New(slog.NewTextHandler(&b.log, nil)), Events: b.cluster, Instance: "pod-1",
	})
	return b
}

func (b *bench) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	b.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		if err := b.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(b.stop)
	settle()
}

// settle lets all retries and pauses pass.
func settle() { <-time.After(10 * time.Minute) }

func (b *bench) wrote(t *testing.T, want int32) {
	t.Helper()
	if got := b.sent.Load(); got != want {
		t.Errorf("%d writes were sent, want %d", got, want)
	}
}

func (b *bench) route(t *testing.T) *gwv1.HTTPRoute {
	t.Helper()
	var route gwv1.HTTPRoute
	if err := b.cluster.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "r"}, &route); err != nil {
		t.Fatal(err)
	}
	return &route
}

func newRoute(parents ...gwv1.RouteParentStatus) *gwv1.HTTPRoute {
	route := &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r", Generation: 1}}
	route.Status.Parents = parents
	return route
}

func acceptedBy(names ...string) outcome.Route {
	o := outcome.Route{Generation: 1}
	for _, name := range names {
		o.Parents = append(
			o.Parents, outcome.Parent{Ref: outcome.ParentRef{Name: name}, Conditions: []outcome.Condition{wanted("Accepted", outcome.True)}},
		)
	}
	return o
}

func TestWriterWritesEachKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		meta := metav1.ObjectMeta{Namespace: "default", Name: "x"}
		class, gateway := &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, &gwv1.Gateway{ObjectMeta: meta}
		http, grpc := &gwv1.HTTPRoute{ObjectMeta: meta}, &gwv1.GRPCRoute{ObjectMeta: meta}
		b := newBench(t, class, gateway, http, grpc)
		b.start(t)
		conditions := []outcome.Condition{wanted("Accepted", outcome.True)}
		b.SetClass("c", outcome.Class{Conditions: conditions})
		b.SetGateway("default/x", outcome.Gateway{Conditions: conditions})
		b.SetRoute(store.HTTPRoute, "default/x", acceptedBy("gw"))
		b.SetRoute(store.GRPCRoute, "default/x", acceptedBy("gw"))
		settle()
		b.wrote(t, 4)
		for _, object := range []client.Object{class, gateway, http, grpc} {
			if err := b.cluster.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
		}
		if len(class.Status.Conditions) != 1 || len(gateway.Status.Conditions) != 1 ||
			len(http.Status.Parents) != 1 || len(grpc.Status.Parents) != 1 {
			t.Error("a status was not written")
		}
	})
}

func TestWriterWritesNothingBeforeItLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
		b.Observed(store.HTTPRoute, "default/r")
		settle()
		b.wrote(t, 0)

		b.start(t)
		b.wrote(t, 1)
	})
}

func TestWriterWritesNothingAfterItLostTheLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		b.start(t)
		b.stop()
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
		settle()
		b.wrote(t, 0)
	})
}

func TestWriterSendsOnlyDifferences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		b.start(t)
		for range 3 {
			b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
			b.Observed(store.HTTPRoute, "default/r")
			settle()
		}
		b.wrote(t, 1)
	})
}

func TestWriterKeepsParentsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		foreign := gwv1.RouteParentStatus{
			ControllerName: another, ParentRef: gwv1.ParentReference{Name: "theirs"},
			Conditions: []metav1.Condition{stored("Accepted", metav1.ConditionTrue, 1)},
		}
		b := newBench(t, newRoute(foreign))
		b.start(t)
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
		settle()
		want := []string{"other theirs Accepted=True@1", "ours gw Accepted=True@1"}
		if diff := cmp.Diff(want, spellParents(b.route(t).Status.Parents)); diff != "" {
			t.Errorf("parents (-want +got):\n%s", diff)
		}

		b.SetRoute(store.HTTPRoute, "default/r", outcome.Route{Generation: 1})
		settle()
		if diff := cmp.Diff([]string{"other theirs Accepted=True@1"}, spellParents(b.route(t).Status.Parents)); diff != "" {
			t.Errorf("parents of a route that is no longer ours (-want +got):\n%s", diff)
		}
		b.wrote(t, 2)
		if len(b.desired) != 0 {
			t.Error("a route that is no longer ours is remembered")
		}
	})
}

func TestWriterRepairsWhatOthersChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		b.start(t)
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
		settle()
		route := b.route(t)
		route.Status.Parents = []gwv1.RouteParentStatus{}
		if err := b.cluster.Status().Update(t.Context(), route); err != nil {
			t.Fatal(err)
		}
		b.Observed(store.HTTPRoute, "default/r")
		b.Observed(store.HTTPRoute, "default/unknown")
		settle()
		b.wrote(t, 2)
		if len(b.route(t).Status.Parents) != 1 {
			t.Error("our entry was not put back")
		}
	})
}

func TestWriterTriesAgain(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "httproutes"}, "r", errors.New("changed meanwhile"))
	cases := []struct {
		name    string
		failure error
		counted string
		logged  int
	}{
		{name: "quietly after a conflict", failure: conflict, counted: resultConflict},
		{name: "after another error, which is logged once", failure: errors.New("no route to host"), counted: resultFailed, logged: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newRoute())
				b.fail = func(attempt int32) error {
					if attempt <= 2 {
						return c.failure
					}
					return nil
				}
				b.start(t)
				b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
				settle()
				b.wrote(t, 3)
				if got := strings.Count(b.log.String(), "default/r"); got != c.logged {
					t.Errorf("logged %d times, want %d: %s", got, c.logged, b.log.String())
				}
				want := map[string]float64{c.counted: 2, resultWritten: 1}
				if diff := cmp.Diff(want, b.counted(t)); diff != "" {
					t.Errorf("counted writes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func (b *bench) counted(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "gatewright_status_writes_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			counts[metric.GetLabel()[1].GetValue()] = metric.GetCounter().GetValue()
		}
	}
	return counts
}

func TestWriterKeepsWhatOthersWroteMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		b.fail = func(attempt int32) error {
			if attempt > 1 {
				return nil
			}
			// Between our read and our write, another controller adds its entry.
			route := b.route(t)
			route.Status.Parents = append(
				route.Status.Parents, gwv1.RouteParentStatus{ControllerName: another, ParentRef: gwv1.ParentReference{Name: "theirs"}},
			)
			return b.cluster.Status().Update(t.Context(), route)
		}
		b.start(t)
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
		settle()
		b.wrote(t, 2)
		if diff := cmp.Diff([]string{"other theirs ", "ours gw Accepted=True@1"}, spellParents(b.route(t).Status.Parents)); diff != "" {
			t.Errorf("parents (-want +got):\n%s", diff)
		}
	})
}

func TestWriterKeepsTheOutcomeOfAnObjectThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		if err := b.cluster.Delete(t.Context(), newRoute()); err != nil {
			t.Fatal(err)
		}
		b.start(t)
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
		settle()
		b.wrote(t, 0)

		if err := b.cluster.Create(t.Context(), newRoute()); err != nil {
			t.Fatal(err)
		}
		b.Observed(store.HTTPRoute, "default/r")
		settle()
		b.wrote(t, 1)

		b.Forget(store.HTTPRoute, "default/r")
		if len(b.desired) != 0 {
			t.Error("the outcome is still remembered")
		}
	})
}

// laggingReader shows an object as it was, for the first reads after it was frozen.
type laggingReader struct {
	client.Reader
	frozen *gwv1.HTTPRoute
	reads  int
}

func (r *laggingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if route, ok := object.(*gwv1.HTTPRoute); ok && r.reads > 0 {
		r.reads--
		r.frozen.DeepCopyInto(route)
		return nil
	}
	return r.Reader.Get(ctx, key, object, opts...)
}

func TestWriterWaitsForTheCacheToShowItsLastWrite(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		lag  int
	}{
		{name: "a cache that catches up", lag: 3},
		{name: "a cache that seems never to", lag: maxStaleReads + 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newRoute())
				lagging := &laggingReader{Reader: b.cluster, frozen: b.route(t)}
				b.reader = lagging
				b.start(t)
				b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
				settle()

				// Seen from the frozen cache, there is nothing of ours to remove.
				lagging.reads = c.lag
				b.SetRoute(store.HTTPRoute, "default/r", outcome.Route{Generation: 1})
				settle()
				removed := len(b.route(t).Status.Parents) == 0
				if caughtUp := c.lag < maxStaleReads; removed != caughtUp {
					t.Errorf("our entry was removed: %t, want %t", removed, caughtUp)
				}
				if len(b.desired) != 0 {
					t.Error("the writer still waits")
				}
			})
		})
	}
}

func TestWriterRepairsChangesOfAnotherControllerMoreAndMoreRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRoute())
		b.start(t)
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw"))
		settle()
		overwrite := func() {
			route := b.route(t)
			route.Status.Parents[0].Conditions[0].Status = metav1.ConditionFalse
			if err := b.cluster.Status().Update(t.Context(), route); err != nil {
				t.Fatal(err)
			}
			b.Observed(store.HTTPRoute, "default/r")
		}
		// pause is how long it takes until a change of another controller is repaired.
		pause := func() time.Duration {
			t.Helper()
			before, since := b.sent.Load(), time.Now()
			overwrite()
			for b.sent.Load() == before {
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
				if time.Since(since) > time.Hour {
					t.Fatal("it is not repaired")
				}
			}
			b.Observed(store.HTTPRoute, "default/r") // our own write
			return time.Since(since)
		}
		for want := 100 * time.Millisecond; want < 2*time.Minute; want *= 2 {
			if got := pause(); got != min(want, time.Minute) {
				t.Errorf("it is repaired after %s, want %s", got, min(want, time.Minute))
			}
		}
		if got := pause(); got != time.Minute {
			t.Errorf("it is repaired after %s, want a minute", got)
		}
		before := b.sent.Load()
		b.SetRoute(store.HTTPRoute, "default/r", acceptedBy("gw", "other"))
		synctest.Wait()
		if b.sent.Load() != before+1 {
			t.Error("a new outcome has to wait")
		}
		settle()
		if got := pause(); got != 100*time.Millisecond {
			t.Errorf("after a while without repairs it is repaired after %s", got)
		}
	})
}
