package apply

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// look tells the applier of everything that came, changed or went since the last time, as informers do.
func (w *fixture) look(t *testing.T) {
	t.Helper()
	found := map[string]bool{}
	for _, kind := range render.Kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			key := kind.Kind + " " + object.Namespace + "/" + object.Name
			found[key] = true
			if before := w.seen[key]; before == nil || before.ResourceVersion != object.ResourceVersion {
				w.seen[key] = object
				w.applier.Observed(exampleGateway().Name, kind.Kind, object, false)
			}
		}
	}
	for key, object := range w.seen {
		if !found[key] {
			delete(w.seen, key)
			kind, _, _ := strings.Cut(key, " ")
			w.applier.Observed(exampleGateway().Name, kind, object, true)
		}
	}
}

// applyAgain has everything of a fleet applied again.
func (w *fixture) applyAgain(gateway ir.Name) {
	w.applier.mu.Lock()
	defer w.applier.mu.Unlock()
	if known := w.applier.fleets[gateway]; known != nil {
		clear(known.applied)
	}
	w.applier.queue.Add(gateway)
}

// remove deletes an object of the example's fleet.
func (w *fixture) remove(t *testing.T, object client.Object) {
	t.Helper()
	w.get(t, object)
	if err := w.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// edit changes an object of the example's fleet in another client's name.
func edit[T client.Object](t *testing.T, w *fixture, object T, change func(T)) {
	t.Helper()
	w.get(t, object)
	change(object)
	if err := w.Update(t.Context(), object, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
}

// scaled is the example with every kind of object there is beside a Deployment.
func scaled() ir.Gateway {
	return with(func(p *ir.Proxies) { p.Autoscaling = &ir.Autoscaling{Min: new(int32(2)), Max: 9} })
}

// healed is a fixture in which a fleet was applied, and was seen.
func healed(t *testing.T, gateway ir.Gateway) *fixture {
	t.Helper()
	w := newFixture(t)
	w.applier.Set(gateway)
	w.after(0)
	w.look(t)
	expect(t, "what was applied is seen", w.after(time.Hour), nil)
	return w
}

func TestDeletedObjectsAreMadeAgain(t *testing.T) {
	t.Parallel()
	daemons := with(func(p *ir.Proxies) { p.DaemonSet = true })
	for _, c := range []struct {
		kind    string
		object  client.Object
		gateway ir.Gateway
	}{
		{"ServiceAccount", &corev1.ServiceAccount{}, scaled()},
		{"ConfigMap", &corev1.ConfigMap{}, scaled()},
		{"Deployment", &appsv1.Deployment{}, scaled()},
		{"DaemonSet", &appsv1.DaemonSet{}, daemons},
		{"PodDisruptionBudget", &policyv1.PodDisruptionBudget{}, scaled()},
		{"HorizontalPodAutoscaler", &autoscalingv2.HorizontalPodAutoscaler{}, scaled()},
		{"Service", &corev1.Service{}, scaled()},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := healed(t, c.gateway)
				w.remove(t, c.object)
				w.look(t)
				expect(t, "applied", w.after(0), []string{c.kind})
				w.get(t, c.object)
				w.look(t)
				expect(t, "applied afterwards", w.after(time.Hour), nil)
			})
		})
	}
}

func TestChangedFieldsAreRestored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  func(*testing.T, *fixture)
		restore string
	}{
		{"data of the ConfigMap", func(t *testing.T, w *fixture) {
			t.Helper()
			edit(t, w, &corev1.ConfigMap{}, func(c *corev1.ConfigMap) { c.Data[bootstrap.BundleFile] = "mine" })
		}, "ConfigMap"},
		{"a file of the ConfigMap taken away", func(t *testing.T, w *fixture) {
			t.Helper()
			edit(t, w, &corev1.ConfigMap{}, func(c *corev1.ConfigMap) { delete(c.Data, bootstrap.BundleFile) })
		}, "ConfigMap"},
		{"the selector of the Service", func(t *testing.T, w *fixture) {
			t.Helper()
			edit(t, w, &corev1.Service{}, func(s *corev1.Service) { s.Spec.Selector[ir.InstanceLabel] = "other" })
		}, "Service"},
		{"the image of the Deployment", func(t *testing.T, w *fixture) {
			t.Helper()
			edit(t, w, &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "mine" })
		}, "Deployment"},
		{"the limit of the autoscaler", func(t *testing.T, w *fixture) {
			t.Helper()
			edit(t, w, &autoscalingv2.HorizontalPodAutoscaler{}, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 1 })
		}, "HorizontalPodAutoscaler"},
		{"labels and owner of the ServiceAccount", func(t *testing.T, w *fixture) {
			t.Helper()
			edit(t, w, &corev1.ServiceAccount{}, func(s *corev1.ServiceAccount) { s.Labels, s.OwnerReferences = nil, nil })
		}, "ServiceAccount"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := healed(t, scaled())
				c.change(t, w)
				w.look(t)
				expect(t, "applied", w.after(0), []string{c.restore})
				w.look(t)
				expect(t, "applied afterwards", w.after(time.Hour), nil)
			})
		})
	}
}

func TestWhatIsNotOursMayBeChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*testing.T, *fixture)
	}{
		{"status", func(t *testing.T, w *fixture) {
			t.Helper()
			w.becomeAvailable(t, "shop", "edge-gatewright")
		}},
		{"the number of proxies where an autoscaler decides", func(t *testing.T, w *fixture) {
			t.Helper()
			w.scaleTo(t, 7)
		}},
		{"an annotation of another client", func(t *testing.T, w *fixture) {
			t.Helper()
			edit(t, w, &corev1.Service{}, func(s *corev1.Service) { s.Annotations = map[string]string{"example.com/a": "b"} })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := healed(t, scaled())
				for range 3 {
					c.change(t, w)
					w.look(t)
				}
				expect(t, "applied", w.after(time.Hour), nil)
			})
		})
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	entry := func(manager, subresource, fields string, second int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Subresource: subresource,
			Time: new(metav1.Unix(second, 0)), FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	object := func(uid types.UID, version string, entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version, ManagedFields: entries}}
	}
	ours, number := entry(render.FieldOwner, "", "{a,b}", 1), entry(ScaleOwner, "", "{replicas}", 1)
	applied := object("1", "100", ours, number)
	for _, c := range []struct {
		name                  string
		seen                  *metav1.PartialObjectMetadata
		gone, fields, replica bool
	}{
		{"the same", object("1", "100", ours, number), false, true, true},
		{"status", object("1", "200", ours, number, entry("kubelet", "status", "{c}", 2)), false, true, true},
		{"a field of ours is another client's", object("1", "200", entry(
			render.FieldOwner, "", "{a}", 1,
		), number, entry("x", "", "{b}", 2)), false, false, true},
		{"the number is an autoscaler's", object("1", "200", ours, entry("hpa", "scale", "{replicas}", 2)), false, true, false},
		{"another client applied in our name", object("1", "200", entry(render.FieldOwner, "", "{a,b}", 2), number), false, false, true},
		{"it was seen before it was applied", object("1", "99"), false, true, true},
		{"versions of ten digits are numbers", object("1", "1000000000"), false, false, false},
		{"another object of this name", object("2", "200", ours, number), false, false, false},
		{"it is gone", applied, true, false, false},
		{"the one before it is gone", object("0", "99"), true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seen := sighting{object: c.seen, gone: c.gone}
			if got := recordOf(digest{}, applied, render.FieldOwner).holds(seen, render.FieldOwner); got != c.fields {
				t.Errorf("our fields are as they were applied: %t", got)
			}
			if got := recordOf(digest{}, applied, ScaleOwner).holds(seen, ScaleOwner); got != c.replica {
				t.Errorf("the number of proxies is as it was applied: %t", got)
			}
		})
	}
}

func TestWhatIsChangedAgainAndAgainIsRestoredMoreAndMoreRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := healed(t, scaled())
		fight := func(d time.Duration) int {
			restored := 0
			for end := time.Now().Add(d); time.Now().Before(end); {
				edit(t, w, &corev1.Service{}, func(s *corev1.Service) { s.Spec.Selector[ir.InstanceLabel] = "other" })
				w.look(t)
				for {
					applied := w.after(100 * time.Millisecond)
					restored += len(applied)
					if len(applied) > 0 {
						break
					}
				}
				w.look(t)
			}
			return restored
		}
		if restored := fight(10 * time.Minute); restored < 30 || restored > 40 {
			t.Errorf("it was restored %d times in ten minutes, want every 20 s", restored)
		}
		reports := w.reported()
		if len(reports) != 2 || !strings.Contains(reports[1], "Service shop/edge-gatewright: another client changes it again and again") {
			t.Errorf("reports are %q", reports)
		}
		w.after(5 * time.Minute)
		if reports := w.reported(); !slices.Equal(reports[2:], []string{"shop/edge: <nil>"}) {
			t.Errorf("when it is over, reports are %q", reports)
		}
		if restored := fight(time.Second); restored < 1 {
			t.Errorf("after a while without a change it is not restored at once")
		}
	})
}

func TestTwoLeadersOneAfterTheOtherRestoreNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := healed(t, scaled())
		w.start(t)
		w.applier.Set(scaled())
		w.look(t)
		w.after(0)
		w.look(t)
		expect(t, "applied", w.after(time.Hour), nil)
	})
}
