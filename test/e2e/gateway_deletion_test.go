//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// fleetKinds are the kinds a Gateway's fleet can be made of, with those that Kubernetes derives from them.
var fleetKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
}

// TestGatewayDeletion deletes a Gateway: the namespace holds exactly what it held before the Gateway was created.
func TestGatewayDeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.waitFor(t, "EndpointSlice", "ConfigMap/kube-root-ca.crt", "ServiceAccount/default")
	before := w.inventory(t)

	address := w.Gateway(t, "short-lived")
	w.Route(t, "route", "short-lived", "short.example.com", "echo")
	w.WaitServed(t, address, "short.example.com")
	during := w.inventory(t)
	made := slices.DeleteFunc(slices.Clone(during), func(o string) bool { return slices.Contains(before, o) })
	for _, kind := range []string{"Deployment/", "Service/", "Pod/"} {
		if !slices.ContainsFunc(made, func(o string) bool { return strings.HasPrefix(o, kind) }) {
			t.Errorf("the Gateway has no %s, so its deletion would prove nothing: %v", kind, made)
		}
	}

	gateway := &gwv1.Gateway{}
	gateway.Name, gateway.Namespace = "short-lived", w.Namespace
	if err := w.Delete(t.Context(), gateway); err != nil {
		t.Fatalf("delete the Gateway: %v", err)
	}
	took := live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		now, err := w.list(ctx)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(now, func(o string) bool { return slices.Contains(before, o) })
		if len(left) > 0 {
			return fmt.Errorf("left behind: %v", left)
		}
		return nil
	})
	if now := w.inventory(t); !slices.Equal(now, before) {
		t.Errorf("the namespace held %v before and holds %v now", before, now)
	}
	t.Logf("%d objects of the Gateway were gone %s after it: %v", len(made), took.Round(time.Millisecond), made)
}

// inventory names everything in the namespace that could belong to a fleet.
func (w *fixture) inventory(t *testing.T) []string {
	t.Helper()
	names, err := w.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// waitFor waits for things that Kubernetes makes by itself a moment later, each given as the beginning of kind/name.
func (w *fixture) waitFor(t *testing.T, wanted ...string) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		names, err := w.list(ctx)
		if err != nil {
			return err
		}
		for _, want := range wanted {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, want) }) {
				return fmt.Errorf("%s is not there: %v", want, names)
			}
		}
		return nil
	})
}

func (w *fixture) list(ctx context.Context) ([]string, error) {
	var names []string
	for _, kind := range fleetKinds {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := w.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			names = append(names, kind.Kind+"/"+list.Items[i].GetName())
		}
	}
	slices.Sort(names)
	return names, nil
}
