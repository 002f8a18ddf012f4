//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaseName is the lock that the replicas of the controller compete for.
const leaseName = "gatewright-leader"

// TestLeaderTakeover kills the leader and creates a route: another replica takes the lease and writes the route's status.
// It is not parallel, because it takes the leader from every other test.
//
//nolint:paralleltest // see above
func TestLeaderTakeover(t *testing.T) {
	w := newWorld(t)
	w.gateway(t, "gateway")
	w.waitControllers(t, 2, nil)
	old, err := w.leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pods, err := w.controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	killed := ""
	for i := range pods {
		// The identity is the pod's name with a suffix.
		if strings.HasPrefix(old, pods[i].Name) {
			killed = pods[i].Name
			w.kill(t, &pods[i])
		}
	}
	if killed == "" {
		t.Fatalf("the leader %q is none of the controller's %d pods", old, len(pods))
	}

	route := w.route(t, "orphan", "gateway", "orphan.example.com", "missing")
	took := eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		return w.routeAccepted(ctx, route)
	})
	now, err := w.leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(now, killed) {
		t.Errorf("the lease is still held by %q, which was killed", now)
	}
	t.Logf("%s took over from %s and wrote the status of a new route %s after the kill", now, old, took.Round(time.Millisecond))
	w.waitControllers(t, 2, map[string]bool{killed: true})
}

// leader is the identity that holds the lease.
func (w *world) leader(ctx context.Context) (string, error) {
	var lease coordinationv1.Lease
	if err := w.Get(ctx, client.ObjectKey{Namespace: controllerNamespace, Name: leaseName}, &lease); err != nil {
		return "", fmt.Errorf("get the lease: %w", err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", errors.New("nobody holds the lease")
	}
	return *lease.Spec.HolderIdentity, nil
}
