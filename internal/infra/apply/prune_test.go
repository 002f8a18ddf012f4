package apply

import (
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/ir"
)

// with is the example as its parameters change it.
func with(edit func(*ir.Proxies)) ir.Gateway {
	gateway := exampleGateway()
	edit(&gateway.Fleet.Proxies)
	return gateway
}

// replicas is the number of proxies in the cluster.
func (w *fixture) replicas(t *testing.T) int32 {
	t.Helper()
	deployment := &appsv1.Deployment{}
	w.get(t, deployment)
	if deployment.Spec.Replicas == nil {
		return 0
	}
	return *deployment.Spec.Replicas
}

// scaleTo does what an autoscaler does.
func (w *fixture) scaleTo(t *testing.T, n int32) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	w.get(t, deployment)
	deployment.Spec.Replicas = &n
	if err := w.Update(t.Context(), deployment, client.FieldOwner("autoscaler")); err != nil {
		t.Fatal(err)
	}
}

func TestTheNumberOfProxies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		step := func(what string, gateway ir.Gateway, want int32) {
			t.Helper()
			w.applier.Set(gateway)
			w.applyAgain(gateway.Name)
			w.after(0)
			if got := w.replicas(t); got != want {
				t.Errorf("%s: %d proxies, want %d", what, got, want)
			}
		}
		autoscaled := with(func(p *ir.Proxies) { p.Autoscaling = &ir.Autoscaling{Max: 9} })
		three := with(func(p *ir.Proxies) { p.Replicas = new(int32(3)) })
		step("a number is said", three, 3)
		step("an autoscaler takes over", autoscaled, 3)
		w.scaleTo(t, 7)
		step("everything is applied again", autoscaled, 7)
		image := with(func(p *ir.Proxies) { p.Autoscaling, p.Pod.Image = &ir.Autoscaling{Max: 9}, "another" })
		step("another image", image, 7)
		w.start(t)
		step("another leader", image, 7)
		if found := w.fleetsOf(t)["HorizontalPodAutoscaler"]; len(found) != 1 {
			t.Errorf("there are %v", found)
		}
		step("a number is said again", three, 3)
		if found := w.fleetsOf(t); found["HorizontalPodAutoscaler"] != nil || found["PodDisruptionBudget"] == nil {
			t.Errorf("there are %v", found)
		}
		step("nothing is said", exampleGateway(), 3)
		if found := w.fleetsOf(t); found["PodDisruptionBudget"] != nil {
			t.Errorf("there are %v", found)
		}
	})
}

func TestADaemonSetReplacesTheDeploymentWhenItServes(t *testing.T) {
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
				w.applier.Set(with(func(p *ir.Proxies) { p.DaemonSet = true }))
				w.after(time.Minute)
				if found := w.fleetsOf(t); found["Deployment"] == nil || found["DaemonSet"] == nil {
					t.Errorf("before it serves there are %v", found)
				}
				daemons := &appsv1.DaemonSet{}
				w.get(t, daemons)
				daemons.Status.NumberAvailable, daemons.Status.DesiredNumberScheduled = 1, 1
				if err := w.Status().Update(t.Context(), daemons); err != nil {
					t.Fatal(err)
				}
				w.after(time.Minute)
				if found := w.fleetsOf(t); found["Deployment"] != nil || found["DaemonSet"] == nil || found["Service"] == nil {
					t.Errorf("when it serves there are %v", found)
				}
			})
		})
	}
}

func TestHeldFleets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		broken := with(func(p *ir.Proxies) { p.Pod.Image = "broken" })
		w.applier.Freeze(broken)
		expect(t, "a new Gateway", w.after(time.Minute), nil)
		w.applier.Set(exampleGateway())
		expect(t, "its parameters are mended", w.after(0), everything)
		w.applier.Freeze(broken)
		expect(t, "they break again", w.after(time.Minute), nil)
		w.look(t)
		w.remove(t, &corev1.Service{})
		w.look(t)
		expect(t, "another client deletes an object meanwhile", w.after(0), []string{"Service"})
		deployment := &appsv1.Deployment{}
		w.get(t, deployment)
		if image := deployment.Spec.Template.Spec.Containers[0].Image; image == "broken" {
			t.Error("the held fleet has the broken image")
		}
		w.start(t)
		w.applier.Freeze(broken)
		expect(t, "another leader", w.after(time.Minute), nil)
		w.expectFleets(t, "afterwards", "edge-gatewright")
	})
}
