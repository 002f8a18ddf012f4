//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestGatewayClassChange gives a Gateway another class of ours, then one without a controller: each time the fleet it had goes, and in
// the end its status claims nothing.
func TestGatewayClassChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "backend", 1)
	w.EchoService(t, "backend")
	w.Gateway(t, "moving")
	w.Route(t, "route", "moving", "moving.example.com", "backend")

	ours := w.class(t, "ours", live.ControllerName, nil)
	w.giveClass(t, "moving", ours)
	var gateway gwv1.Gateway
	live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.fleetGone(ctx, live.GatewayClass); err != nil {
			return err
		}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "moving"}, &gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		programmed := meta.FindStatusCondition(gateway.Status.Conditions, string(gwv1.GatewayConditionProgrammed))
		if programmed == nil || programmed.Status != metav1.ConditionTrue || programmed.ObservedGeneration != gateway.Generation {
			return fmt.Errorf("the new fleet is not programmed: %+v", gateway.Status)
		}
		return nil
	})
	w.WaitServed(t, gateway.Status.Addresses[0].Value, "moving.example.com")

	w.giveClass(t, "moving", w.class(t, "theirs", "example.com/none", nil))
	live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.fleetGone(ctx, ours); err != nil {
			return err
		}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "moving"}, &gateway); err != nil {
			return fmt.Errorf("get the Gateway: %w", err)
		}
		// The API server puts its own "waiting for controller" in the place of conditions.
		ours := func(c metav1.Condition) bool { return c.Status != metav1.ConditionUnknown }
		if slices.ContainsFunc(gateway.Status.Conditions, ours) || len(gateway.Status.Addresses) > 0 || len(gateway.Status.Listeners) > 0 {
			return fmt.Errorf("its status still says %+v", gateway.Status)
		}
		return nil
	})
}

// class makes a GatewayClass that is the test's own and returns its name.
func (w *fixture) class(t *testing.T, suffix string, controller gwv1.GatewayController, parameters *gwv1.ParametersReference) string {
	t.Helper()
	class := &gwv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + suffix},
		Spec:       gwv1.GatewayClassSpec{ControllerName: controller, ParametersRef: parameters},
	}
	if err := w.Create(t.Context(), class); err != nil {
		t.Fatalf("create GatewayClass %s: %v", class.Name, err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		if err := client.IgnoreNotFound(w.Delete(context.Background(), class)); err != nil {
			t.Errorf("delete GatewayClass %s: %v", class.Name, err)
		}
	})
	return class.Name
}

func (w *fixture) giveClass(t *testing.T, gateway, class string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"gatewayClassName":"`+class+`"}}`))
	object := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: gateway}}
	if err := w.Patch(t.Context(), object, patch); err != nil {
		t.Fatalf("give Gateway %s the class %s: %v", gateway, class, err)
	}
}

// fleetGone says what is left of the fleet that the Gateway had under a class.
func (w *fixture) fleetGone(ctx context.Context, class string) error {
	names, err := w.list(ctx)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, "/moving-"+class) })
	if len(left) > 0 {
		return errors.New("left behind: " + strings.Join(left, ", "))
	}
	return nil
}
