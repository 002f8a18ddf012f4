package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pki"
)

var lives = pki.Lifetimes{
	CA: 6 * time.Hour, Overlap: 3 * time.Hour, Learn: 15 * time.Minute, Server: 30 * time.Minute, Backdate: time.Minute,
}

var everything = []string{"ServiceAccount", "ConfigMap", "Deployment", "Service"}

func exampleGateway() ir.Gateway {
	return ir.Gateway{
		Name:  ir.Name{Namespace: "shop", Name: "edge"},
		Fleet: ir.Fleet{Name: "edge-gatewright", UID: "uid-1", Class: "gatewright"},
		Ports: []ir.Port{{Number: 80, Protocol: ir.HTTP}},
	}
}

// fixed is a source that changes only when the test says so.
type fixed struct{ atomic.Pointer[pki.Authority] }

func (f *fixed) Authority() *pki.Authority { return f.Load() }

// fixture is a cluster, an applier that works on it, and what was seen of it.
type fixture struct {
	client.Client
	applier *Applier
	source  *fixed
	stop    func()

	// installation is which one the applier is of.
	installation string
	// seen is what the informers of the applier have seen.
	seen map[string]*metav1.PartialObjectMetadata

	mu      sync.Mutex
	applied []string
	reports []string
	refuse  error
}

// newFixture must be called in a bubble; the applier works until the test ends.
func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	authority, _, err := pki.Advance(nil, lives, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{source: &fixed{}, stop: func() {}, seen: map[string]*metav1.PartialObjectMetadata{}}
	w.source.Store(authority)
	w.Client = fake.NewClientBuilder().WithReturnManagedFields().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := w.note(object.GetObjectKind().GroupVersionKind().Kind); err != nil {
				return err
			}
			if err := sameObject(ctx, c, object, patch); err != nil {
				return err
			}
			if err := c.Patch(ctx, object, patch, opts...); err != nil || object.GetUID() != "" {
				return err
			}
			return identify(ctx, c, object)
		},
	}).Build()
	w.start(t)
	return w
}

// sameObject refuses an apply that names the UID of another object, as an API server does.
func sameObject(ctx context.Context, c client.Client, object client.Object, patch client.Patch) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	sent, existing := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	if err := sent.UnmarshalJSON(data); err != nil {
		return err
	}
	existing.SetGroupVersionKind(sent.GroupVersionKind())
	err = c.Get(ctx, client.ObjectKeyFromObject(sent), existing)
	if err == nil && sent.GetUID() != "" && sent.GetUID() != existing.UID {
		return fmt.Errorf("metadata.uid: Invalid value: %q: field is immutable", sent.GetUID())
	}
	return client.IgnoreNotFound(err)
}

// identify gives a new object a UID, as an API server does.
func identify(ctx context.Context, c client.Client, object client.Object) error {
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), stored); err != nil {
		return err
	}
	stored.SetUID(uuid.NewUUID())
	if err := c.Update(ctx, stored); err != nil {
		return err
	}
	return c.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// note remembers that a kind was applied, unless it is refused.
func (w *fixture) note(kind string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse == nil {
		w.applied = append(w.applied, kind)
	}
	return w.refuse
}

func (w *fixture) setRefuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = err
}

func (w *fixture) reported() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.reports)
}

// start begins with a new applier, as after a restart.
func (w *fixture) start(t *testing.T) {
	t.Helper()
	w.stop()
	w.applier = New(Config{
		Client: w.Client, Reader: w.Client, Settings: render.Settings{SystemNamespace: "gatewright-system", Installation: w.installation},
		Authority: w.source, Log: slog.New(slog.DiscardHandler),
		Report: func(name ir.Name, problem error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reports = append(w.reports, fmt.Sprintf("%s: %v", name, problem))
		},
	})
	w.lead(t)
}

// lead lets the applier work until it is stopped.
func (w *fixture) lead(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = func() {
		cancel()
		synctest.Wait()
	}
	t.Cleanup(w.stop)
	applier := w.applier
	go func() {
		if err := applier.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
}

// after waits until everything that is due within d is done, and gives the kinds that were applied since the last time.
func (w *fixture) after(d time.Duration) []string {
	time.Sleep(d)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	applied := w.applied
	w.applied = nil
	return applied
}

func (w *fixture) get(t *testing.T, object client.Object) {
	t.Helper()
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "edge-gatewright"}, object); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestOnlyDifferencesAreApplied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		gateway := exampleGateway()
		w.applier.Set(gateway)
		expect(t, "a new Gateway", w.after(0), everything)
		deployment := &appsv1.Deployment{}
		w.get(t, deployment)
		if !metav1.IsControlledBy(deployment, &metav1.ObjectMeta{UID: "uid-1"}) {
			t.Errorf("the Deployment is owned by %v", deployment.OwnerReferences)
		}

		w.applier.Set(gateway)
		expect(t, "the same again", w.after(0), nil)

		gateway.Ports = append(slices.Clone(gateway.Ports), ir.Port{Number: 443, Protocol: ir.HTTPS})
		w.applier.Set(gateway)
		expect(t, "a new port", w.after(0), []string{"Service"})

		w.applier.Delete(gateway.Name)
		w.look(t)
		expect(t, "a deleted Gateway", w.after(2*time.Hour), nil)
		expect(t, "reports", w.reported(), []string{"shop/edge: <nil>"})
	})
}

func TestANewAuthorityReachesTheFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.applier.Set(exampleGateway())
		w.after(0)
		advanced, changed, err := pki.Advance(w.source.Load(), lives, time.Now().Add(3*time.Hour))
		if err != nil || !changed {
			t.Fatalf("changed %v, err %v", changed, err)
		}
		w.source.Store(advanced)
		w.applier.Refresh()
		expect(t, "a successor", w.after(0), []string{"ConfigMap"})
		files := &corev1.ConfigMap{}
		w.get(t, files)
		if files.Data[bootstrap.BundleFile] != string(advanced.Bundle()) {
			t.Error("the proxies do not learn of it")
		}
	})
}

func TestObjectsThatExist(t *testing.T) {
	t.Parallel()
	const foreign = "shop/edge: Service shop/edge-gatewright exists and is not Gatewright's; rename the Gateway or remove it"
	labels := map[string]string{ir.ManagedByLabel: ir.ManagedBy, render.GatewayNameLabel: "edge"}
	controller := func(kind, name string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: uid, Controller: new(true)}}
	}
	tests := []struct {
		name string
		meta metav1.ObjectMeta
		want string
	}{
		{"one without a controller is left alone", metav1.ObjectMeta{}, foreign},
		{"one of another controller is left alone", metav1.ObjectMeta{OwnerReferences: controller("Shop", "edge", "uid-9")}, foreign},
		{"one of another Gateway is left alone", metav1.ObjectMeta{
			Labels:          map[string]string{ir.ManagedByLabel: ir.ManagedBy, render.GatewayNameLabel: "other"},
			OwnerReferences: controller("Gateway", "other", "uid-9"),
		}, foreign},
		{"one of an earlier Gateway is waited for", metav1.ObjectMeta{Labels: labels, OwnerReferences: controller(
			"Gateway", "edge", "uid-0",
		)}, "shop/edge: Service " +
			"shop/edge-gatewright belongs to an earlier Gateway of this name; it is made again when Kubernetes has removed it"},
		{"one that is leaving is waited for", metav1.ObjectMeta{
			Labels: labels, OwnerReferences: controller(
				"Gateway", "edge", "uid-1",
			), DeletionTimestamp: new(metav1.Now()), Finalizers: []string{"a/b"},
		}, "shop/edge: Service shop/edge-gatewright is being deleted; it is made again when it is gone"},
		{"one of this Gateway is kept up to date", metav1.ObjectMeta{OwnerReferences: controller(
			"Gateway", "edge", "uid-1",
		)}, "shop/edge: <nil>"},
		{"one that lost its owner is taken back", metav1.ObjectMeta{Labels: labels}, "shop/edge: <nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				test.meta.Namespace, test.meta.Name = "shop", "edge-gatewright"
				w := newFixture(t, &corev1.Service{ObjectMeta: test.meta})
				w.applier.Set(exampleGateway())
				applied := w.after(time.Minute)
				expect(t, "reports", w.reported(), []string{test.want})
				if touched := slices.Contains(applied, "Service"); touched != strings.HasSuffix(test.want, "<nil>") {
					t.Errorf("the Service was applied: %v", touched)
				}
			})
		})
	}
}

func TestAGatewayMadeAnewGetsItsFleetWhenTheOldOneIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		gateway := exampleGateway()
		w.applier.Set(gateway)
		w.after(0)
		gateway.Fleet.UID = "uid-2"
		w.applier.Set(gateway)
		w.look(t)
		expect(t, "while the old objects are there", w.after(time.Second), nil)
		for _, object := range []client.Object{&corev1.ServiceAccount{}, &corev1.ConfigMap{}, &appsv1.Deployment{}, &corev1.Service{}} {
			w.get(t, object)
			if err := w.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
		w.look(t)
		expect(t, "when they are gone", w.after(0), everything)
	})
}

func TestFailuresAreRetriedAndReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.setRefuse(errors.New("no"))
		w.applier.Set(exampleGateway())
		expect(t, "while refused", w.after(10*time.Minute), nil)
		w.setRefuse(nil)
		expect(t, "when allowed", w.after(time.Minute), everything)
		expect(t, "reports", w.reported(), []string{"shop/edge: applying ServiceAccount shop/edge-gatewright: no", "shop/edge: <nil>"})
	})
}

func TestNothingIsDoneWithoutAnAuthority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		authority := w.source.Load()
		w.source.Store(nil)
		w.applier.Set(exampleGateway())
		expect(t, "without an authority", w.after(time.Minute), nil)
		if reports := w.reported(); len(reports) != 1 || !strings.Contains(reports[0], errNoAuthority.Error()) {
			t.Errorf("reports are %v", reports)
		}
		w.source.Store(authority)
		w.applier.Refresh()
		expect(t, "with an authority", w.after(0), everything)
	})
}

func TestAReplicaThatLeadsAgainTrustsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.applier.Set(exampleGateway())
		expect(t, "a new Gateway", w.after(0), everything)
		w.stop()
		w.applier.Set(exampleGateway())
		expect(t, "while another one leads", w.after(time.Minute), nil)
		w.lead(t)
		expect(t, "leading again", w.after(0), everything)
	})
}

func TestAReplicaThatDoesNotLeadOnlyRemembers(t *testing.T) {
	t.Parallel()
	applier := New(Config{})
	applier.Set(exampleGateway())
	applier.Set(ir.Gateway{Name: ir.Name{Namespace: "a", Name: "b"}})
	applier.Delete(ir.Name{Namespace: "a", Name: "b"})
	applier.Observed(exampleGateway().Name, "Service", &metav1.PartialObjectMetadata{}, true)
	applier.Refresh()
	if len(applier.fleets) > 0 || len(applier.wanted) != 1 {
		t.Errorf("%d are known, and %d are wanted", len(applier.fleets), len(applier.wanted))
	}
}
