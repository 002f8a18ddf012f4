package apply

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/ir"
)

// carrier is the fleet that the Gateways of a class share.
func carrier() ir.Gateway {
	class := exampleGateway().Fleet.Class
	return ir.Gateway{
		Name:  ir.SharedFleet(class),
		Fleet: ir.Fleet{Name: ir.SharedFleetName(class), OtherNamespace: "gatewright-system", UID: "class-1", Class: class},
	}
}

// tenant is a Gateway that it serves.
func tenant() ir.Gateway {
	gateway := inSystemNamespace()
	gateway.Fleet.Shared = carrier().Name
	for i := range gateway.Ports {
		gateway.Ports[i].TargetPort = 20000 + int32(i)
	}
	return gateway
}

// leadsTo is the fleet whose pods a Gateway's Service selects.
func (w *fixture) leadsTo(t *testing.T) string {
	t.Helper()
	service := &corev1.Service{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "gatewright-system", Name: tenant().Fleet.Name}, service); err != nil {
		t.Fatal(err)
	}
	return service.Spec.Selector[ir.InstanceLabel]
}

func TestGatewaysThatShareProxiesHaveAServiceEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.applier.Set(carrier())
		w.applier.Set(tenant())
		w.applier.Synced()
		w.after(time.Minute)
		found := w.fleetsOf(t)
		if !slices.Equal(found["Service"], []string{tenant().Fleet.Name}) || !slices.Equal(found["Deployment"], []string{carrier().Fleet.Name}) {
			t.Errorf("there are %v", found)
		}
		w.applier.Delete(tenant().Name)
		w.after(time.Minute)
		if found := w.fleetsOf(t); found["Service"] != nil || found["Deployment"] == nil {
			t.Errorf("when the Gateway is gone there are %v", found)
		}
		w.applier.Delete(carrier().Name)
		w.after(time.Minute)
		if found := w.fleetsOf(t); len(found) != 0 {
			t.Errorf("when all are gone there are %v", slices.Collect(maps.Keys(found)))
		}
	})
}

func TestAServiceIsTurnedToOtherProxiesWhenTheyServe(t *testing.T) {
	t.Parallel()
	own, shared := inSystemNamespace().Fleet.Name, carrier().Fleet.Name
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.applier.Set(inSystemNamespace())
		w.after(0)
		w.becomeAvailable(t, "gatewright-system", own)
		w.applier.Set(tenant())
		w.after(time.Minute)
		if got := w.leadsTo(t); got != own {
			t.Errorf("the shared proxies are not there, and the Service leads to %s", got)
		}
		w.applier.Set(carrier())
		w.after(time.Minute)
		if got := w.leadsTo(t); got != own {
			t.Errorf("the shared proxies do not serve, and the Service leads to %s", got)
		}
		w.becomeAvailable(t, "gatewright-system", shared)
		w.after(time.Minute)
		if found := w.fleetsOf(t); w.leadsTo(t) != shared || !slices.Equal(found["Deployment"], []string{shared}) {
			t.Errorf("the shared proxies serve, the Service leads to %s, and there are %v", w.leadsTo(t), found)
		}

		w.applier.Set(inSystemNamespace())
		w.after(time.Minute)
		if got := w.leadsTo(t); got != shared {
			t.Errorf("its own proxies do not serve, and the Service leads to %s", got)
		}
		w.becomeAvailable(t, "gatewright-system", own)
		w.after(time.Minute)
		if got := w.leadsTo(t); got != own {
			t.Errorf("its own proxies serve, and the Service leads to %s", got)
		}
	})
}
