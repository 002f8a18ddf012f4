//go:build fault

package fault

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestCase02NewProxyWithoutLeader kills the leader and at once starts one more proxy: it gets everything from a replica that does
// not lead.
//
//nolint:paralleltest // it takes the leader from every other case
func TestCase02NewProxyWithoutLeader(t *testing.T) {
	const limit = 10 * time.Second
	c := begin(t, "2", "a new proxy while the leader is down")
	w := newFixture(t)
	w.WaitControllers(t, 2, nil)
	leader := w.leaderPod(t)
	w.Kill(t, leader)
	_, took := w.NewProxy(t, gatewayName, steadyHost)
	now, err := w.Leader(t.Context())
	if err != nil || !strings.HasPrefix(now, leader.Name) {
		t.Logf("meanwhile the lease went to %q, %v", now, err)
	}
	c.took(took, "the new proxy serves after", limit)
	w.WaitControllers(t, 2, map[string]bool{leader.Name: true})
}

// leaderPod is the pod that holds the lease.
func (w *fixture) leaderPod(t *testing.T) *corev1.Pod {
	t.Helper()
	holder, err := w.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		// The identity is the pod's name with a suffix.
		if strings.HasPrefix(holder, pods[i].Name) {
			return &pods[i]
		}
	}
	t.Fatalf("the leader %q is none of the controller's %d pods", holder, len(pods))
	return nil
}
