//go:build fault

package fault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// scenario is a Gateway of its own with parts that go and come back.
type scenario struct {
	w       *fixture
	name    string
	gateway *gwv1.Gateway
	objects []client.Object
	parts   []*part

	mu      sync.Mutex
	address string
}

// part is what goes and comes back.
type part struct {
	name string
	// ask says why what the part is for is not served.
	ask             func(context.Context) error
	remove, restore func(context.Context) error
	// stays, if there is one, says why what must not notice is not served.
	stays func(context.Context) error
	// whole is for a part that takes the whole Gateway with it.
	whole bool
}

// whole says whether a part takes the whole Gateway with it.
func (s *scenario) whole() bool {
	return slices.ContainsFunc(s.parts, func(p *part) bool { return p.whole })
}

func newScenario(w *fixture, name string) *scenario {
	return &scenario{w: w, name: name, gateway: &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gwv1.GatewaySpec{GatewayClassName: live.GatewayClass},
	}}
}

// listen adds a listener, unless another part has added it.
func (s *scenario) listen(l gwv1.Listener) {
	if !slices.ContainsFunc(s.gateway.Spec.Listeners, func(o gwv1.Listener) bool { return o.Name == l.Name }) {
		s.gateway.Spec.Listeners = append(s.gateway.Spec.Listeners, l)
	}
}

// need has objects be created with the Gateway.
func (s *scenario) need(objects ...client.Object) { s.objects = append(s.objects, objects...) }

// start creates the Gateway and all it needs.
func (s *scenario) start(t *testing.T) {
	t.Helper()
	for _, object := range append(s.objects, s.gateway) {
		object.SetNamespace(s.w.Namespace)
		if err := s.w.createAgain(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	s.w.WaitProgrammed(t, s.gateway.DeepCopy())
}

// stop deletes the Gateway, so that its proxy makes room for others.
func (s *scenario) stop(t *testing.T) {
	t.Helper()
	if err := client.IgnoreNotFound(s.w.Delete(context.WithoutCancel(t.Context()), s.gateway.DeepCopy())); err != nil {
		t.Errorf("delete Gateway %s: %v", s.name, err)
	}
}

// where is the address of the Gateway, once it has one. It need not be Programmed: it serves while what it refers to is away.
func (s *scenario) where(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address != "" {
		return s.address, nil
	}
	var gateway gwv1.Gateway
	if err := s.w.Get(ctx, client.ObjectKey{Namespace: s.w.Namespace, Name: s.name}, &gateway); err != nil {
		return "", fmt.Errorf("get Gateway %s: %w", s.name, err)
	}
	if len(gateway.Status.Addresses) == 0 {
		return "", fmt.Errorf("gateway %s has no address: %+v", s.name, gateway.Status.Conditions)
	}
	s.address = gateway.Status.Addresses[0].Value
	return s.address, nil
}

// forget has the address be looked up again after a failure: a Gateway that was created again may have another.
func (s *scenario) forget(err error) error {
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.address = ""
	}
	return err
}

// edit changes the Gateway, whatever others have changed meanwhile.
func (s *scenario) edit(ctx context.Context, change func(*gwv1.Gateway)) error {
	return retry(ctx, 10*time.Second, func() error {
		gateway := &gwv1.Gateway{}
		if err := s.w.Get(ctx, client.ObjectKey{Namespace: s.w.Namespace, Name: s.name}, gateway); err != nil {
			return fmt.Errorf("get Gateway %s: %w", s.name, err)
		}
		change(gateway)
		return s.w.Update(ctx, gateway)
	})
}

// returning is a part that is one object.
func (s *scenario) returning(name string, ask func(context.Context) error, object client.Object) *part {
	return &part{
		name: name, ask: ask,
		remove:  func(ctx context.Context) error { return s.w.deleteNow(ctx, object) },
		restore: func(ctx context.Context) error { return s.w.createAgain(ctx, object) },
	}
}

// createAgain creates a copy of an object, as if it had never been there.
func (w *fixture) createAgain(ctx context.Context, object client.Object) error {
	fresh, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T cannot be copied", object)
	}
	fresh.SetResourceVersion("")
	fresh.SetUID("")
	fresh.SetGeneration(0)
	fresh.SetCreationTimestamp(metav1.Time{})
	fresh.SetManagedFields(nil)
	fresh.SetDeletionTimestamp(nil)
	fresh.SetFinalizers(nil)
	if err := w.Create(ctx, fresh); err != nil {
		return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// deleteNow deletes an object, and returns when it is gone.
func (w *fixture) deleteNow(ctx context.Context, object client.Object) error {
	gone, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T cannot be copied", object)
	}
	gone.SetUID("")
	gone.SetResourceVersion("")
	if err := w.Delete(ctx, gone); err != nil {
		return fmt.Errorf("delete %T %s: %w", object, object.GetName(), err)
	}
	return retry(ctx, time.Minute, func() error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(object), gone); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%T %s is still there: %w", object, object.GetName(), err)
		}
		return nil
	})
}

// retry does something again until it succeeds or the time is over.
func retry(ctx context.Context, limit time.Duration, do func() error) error {
	for start := time.Now(); ; {
		err := do()
		if err == nil || time.Since(start) > limit || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
