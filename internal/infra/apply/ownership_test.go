package apply

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// racing is a reader that lets another client act after its first look at a Service.
type racing struct {
	client.Reader
	act func()
}

func (r *racing) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, object, opts...)
	if object.GetObjectKind().GroupVersionKind().Kind == "Service" && r.act != nil {
		r.act()
		r.act = nil
	}
	return err
}

func TestAnObjectMadeAfterTheGuardLookedIsNotReplaced(t *testing.T) {
	t.Parallel()
	foreign := func(t *testing.T, w *fixture) {
		t.Helper()
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge-gatewright", UID: "foreign"},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "theirs"}},
		}
		if err := w.Create(t.Context(), service); err != nil {
			t.Error(err)
		}
		// No object of a cluster has the version of a new one here.
		service.Annotations = map[string]string{"a": "b"}
		if err := w.Update(t.Context(), service); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		name string
		act  func(*testing.T, *fixture)
	}{
		{"where there was none", foreign},
		{"where there was ours", func(t *testing.T, w *fixture) {
			t.Helper()
			w.remove(t, &corev1.Service{})
			foreign(t, w)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				if strings.Contains(c.name, "ours") {
					w.applier.Set(exampleGateway())
					w.after(0)
					w.start(t)
				}
				w.applier.Reader = &racing{Reader: w.Client, act: func() { c.act(t, w) }}
				w.applier.Set(exampleGateway())
				w.after(time.Minute)
				service := &corev1.Service{}
				w.get(t, service)
				if service.Spec.Selector["app"] != "theirs" || len(service.OwnerReferences) > 0 {
					t.Errorf("it was replaced: %v, owned by %v", service.Spec.Selector, service.OwnerReferences)
				}
				if reports := w.reported(); !strings.HasSuffix(
					reports[len(reports)-1], "exists and is not Gatewright's; rename the Gateway or remove it",
				) {
					t.Errorf("reports are %q", reports)
				}
			})
		})
	}
}
