package apply

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// of is the example as an installation runs it.
func of(installation string) ir.Gateway {
	gateway := exampleGateway()
	gateway.Fleet.Installation = installation
	return gateway
}

func TestAnInstallationRemovesNoFleetOfAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, theirs, ours string }{
		{"of the default one", "", "blue"},
		{"of one with a name", "blue", ""},
		{"of one with another name", "blue", "green"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				w.installation = c.theirs
				w.start(t)
				w.applier.Set(of(c.theirs))
				w.after(0)
				w.installation = c.ours
				w.start(t)
				// The class of the Gateway names another controller.
				w.applier.Release(exampleGateway().Name, ir.Fleet{UID: "uid-1"})
				w.applier.Synced()
				w.after(time.Hour)
				w.expectFleets(t, "afterwards", "edge-gatewright")
			})
		})
	}
}

func TestAGatewayCanBeGivenToAnotherInstallation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.applier.Set(of(""))
		w.after(0)
		former := w.applier
		w.applier, w.installation = nil, "blue"
		stop := w.stop
		w.stop = func() {}
		w.start(t)
		w.applier.Set(of("blue"))
		w.after(0)
		service := &corev1.Service{}
		w.get(t, service)
		if service.Labels[ir.InstallationLabel] != "blue" {
			t.Errorf("the labels are %v", service.Labels)
		}
		former.Release(exampleGateway().Name, ir.Fleet{UID: "uid-1"})
		w.after(time.Hour)
		w.expectFleets(t, "afterwards", "edge-gatewright")
		stop()
	})
}
