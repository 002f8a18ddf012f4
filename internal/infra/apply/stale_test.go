package apply

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// fleetsOf lists the names of fleets that have objects, by kind.
func (w *fixture) fleetsOf(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, kind := range render.Kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			found[kind.Kind] = append(found[kind.Kind], object.Name)
		}
	}
	return found
}

func (w *fixture) expectFleets(t *testing.T, when string, names ...string) {
	t.Helper()
	found := w.fleetsOf(t)
	for _, kind := range everything {
		if !slices.Equal(found[kind], names) {
			t.Errorf("%s: every kind is of %v, want %v", when, found, names)
			return
		}
	}
}

// becomeAvailable says that a proxy of the fleet serves.
func (w *fixture) becomeAvailable(t *testing.T, namespace, fleet string) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: fleet}, deployment); err != nil {
		t.Fatal(err)
	}
	deployment.Status.AvailableReplicas = 1
	if err := w.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
}

func moved() ir.Gateway {
	gateway := exampleGateway()
	gateway.Fleet.Name, gateway.Fleet.Class = "edge-other", "other"
	return gateway
}

func TestAnotherClassReplacesTheFleet(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"while we watch": false, "without a leader": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				w.applier.Set(exampleGateway())
				w.after(0)
				if restart {
					w.start(t)
				}
				w.applier.Set(moved())
				w.after(time.Minute)
				w.expectFleets(t, "before the new one serves", "edge-gatewright", "edge-other")
				w.becomeAvailable(t, "shop", "edge-other")
				w.after(time.Minute)
				w.expectFleets(t, "when it serves", "edge-other")
			})
		})
	}
}

func TestReleasedGateways(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		keep ir.Fleet
		want []string
	}{
		{"one given to another controller keeps no fleet", ir.Fleet{UID: "uid-1"}, nil},
		{"one whose class is gone keeps its fleet", ir.Fleet{UID: "uid-1", Name: "edge-gatewright"}, []string{"edge-gatewright"}},
		{"one made anew leaves the old fleet to the garbage collector", ir.Fleet{UID: "uid-2"}, []string{"edge-gatewright"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				w.applier.Set(exampleGateway())
				w.after(0)
				w.applier.Release(exampleGateway().Name, c.keep)
				w.after(time.Minute)
				w.expectFleets(t, "afterwards", c.want...)
			})
		})
	}
}

func TestOnlyObjectsOfTheFleetAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge-gatewright"}}
		unlabelled := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "edge-gatewright",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Gateway", Name: "edge", UID: "uid-1", Controller: new(true)}},
		}}
		ours := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "edge-gatewright", Labels: map[string]string{ir.ManagedByLabel: ir.ManagedBy},
			OwnerReferences: unlabelled.OwnerReferences,
		}}
		w := newFixture(t, foreign, unlabelled, ours)
		w.applier.Release(exampleGateway().Name, ir.Fleet{UID: "uid-1"})
		w.after(time.Minute)
		found := w.fleetsOf(t)
		if len(found["ConfigMap"]) != 1 || len(found["ServiceAccount"]) != 1 || len(found["Service"]) != 0 {
			t.Errorf("left are %v", found)
		}
	})
}

// inSystemNamespace is the example in Gatewright's namespace.
func inSystemNamespace() ir.Gateway {
	gateway := exampleGateway()
	gateway.Fleet.OtherNamespace, gateway.Fleet.Name = "gatewright-system", ir.SystemFleetName(gateway.Name, gateway.Fleet.Class)
	return gateway
}

func TestFleetsInGatewrightsNamespace(t *testing.T) {
	t.Parallel()
	name := inSystemNamespace().Fleet.Name
	for _, c := range []struct {
		name string
		do   func(t *testing.T, w *fixture)
		want []string
	}{
		{"one whose Gateway is deleted goes", func(_ *testing.T, w *fixture) { w.applier.Delete(inSystemNamespace().Name) }, nil},
		{"one whose Gateway was deleted without a leader goes when everything is known", func(t *testing.T, w *fixture) {
			w.start(t)
			w.after(time.Minute)
			w.expectFleets(t, "before", name)
			w.applier.Synced()
		}, nil},
		{"one whose Gateway is there stays", func(t *testing.T, w *fixture) {
			w.start(t)
			w.applier.Set(inSystemNamespace())
			w.applier.Synced()
		}, []string{name}},
		{"one whose class is gone stays", func(_ *testing.T, w *fixture) {
			w.applier.Release(inSystemNamespace().Name, exampleGateway().Fleet)
		}, []string{name}},
		{"one whose Gateway is given to another controller goes", func(_ *testing.T, w *fixture) {
			w.applier.Release(inSystemNamespace().Name, ir.Fleet{UID: "uid-1"})
		}, nil},
		{"one whose Gateway was made anew goes when the new one serves", func(t *testing.T, w *fixture) {
			anew := exampleGateway()
			anew.Fleet.UID = "uid-2"
			w.applier.Set(anew)
			w.after(time.Minute)
			w.becomeAvailable(t, "shop", anew.Fleet.Name)
		}, []string{"edge-gatewright"}},
		{"one that is to be in the Gateway's namespace goes when that one serves", func(t *testing.T, w *fixture) {
			w.applier.Set(exampleGateway())
			w.after(time.Minute)
			w.expectFleets(t, "before", name, "edge-gatewright")
			w.becomeAvailable(t, "shop", "edge-gatewright")
		}, []string{"edge-gatewright"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				w.applier.Set(inSystemNamespace())
				w.after(0)
				w.applier.Synced()
				w.after(0)
				w.expectFleets(t, "at first", name)
				c.do(t, w)
				w.after(time.Minute)
				w.expectFleets(t, "afterwards", c.want...)
			})
		})
	}
}
