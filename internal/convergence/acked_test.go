package convergence

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// TestSomeAndAllProxiesHaveAcknowledgedAState looks at two ready proxies, of which one is behind, and at one that is not ready.
func TestSomeAndAllProxiesHaveAcknowledgedAState(t *testing.T) {
	t.Parallel()
	group := xds.GroupID{Namespace: "shop", Name: "web"}
	tracker := New(prometheus.NewRegistry())
	tracker.Fleet(ir.Gateway{Name: ir.Name(group)}, "shop/web")
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{gwv1.GatewayNameLabelKey: "web", discoveryv1.LabelServiceName: "web"},
	}}
	for _, pod := range []string{"a", "b"} {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			TargetRef: &corev1.ObjectReference{Name: pod}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		})
	}
	tracker.Endpoints("shop/slice", slice)
	for _, state := range []string{"1", "2"} {
		tracker.Reach(map[xds.GroupID]string{group: state}, time.Now())
	}
	for pod, state := range map[string]string{"a": "2", "b": "1", "starting": "2"} {
		tracker.Connected(xds.Identity{Group: group, Pod: pod})
		tracker.Holds(xds.Identity{Group: group, Pod: pod}, state)
	}
	for _, c := range []struct {
		state        string
		but          string
		acked, ready int
	}{
		{"1", "", 2, 2},
		{"2", "", 1, 2},
		{"2", "a", 0, 1},
		{"2", "b", 1, 1},
		{"", "", 2, 2},
		{"long gone", "a", 1, 1},
	} {
		if acked, ready := tracker.Acked(group, c.state, map[string]struct{}{c.but: {}}); acked != c.acked || ready != c.ready {
			t.Errorf("state %q without %q: %d of %d; want %d of %d", c.state, c.but, acked, ready, c.acked, c.ready)
		}
	}
	if !tracker.Knows(group, "starting") || tracker.Knows(group, "gone") {
		t.Error("a proxy that starts is connected, and one that is gone is not")
	}
}

// TestEverySessionThatEndsIsReported has proxies disconnect from this replica and from another one, and the other one disconnect.
func TestEverySessionThatEndsIsReported(t *testing.T) {
	t.Parallel()
	tracker, ended := New(prometheus.NewRegistry()), 0
	tracker.OnDisconnect(func() { ended++ })
	proxy := xds.Identity{Group: xds.GroupID{Namespace: "shop", Name: "web"}, Pod: "a"}
	connect := func() { tracker.PeerHolds("other", proxy, time.Now(), "", false) }
	for _, c := range []struct {
		name string
		do   func()
		want int
	}{
		{"a proxy connects", func() { tracker.Connected(proxy) }, 0},
		{"it connects again before its stream ends", func() { tracker.Connected(proxy) }, 0},
		{"the first stream ends", func() { tracker.Disconnected(proxy) }, 0},
		{"the second one does", func() { tracker.Disconnected(proxy) }, 1},
		{"it connects to another replica", connect, 0},
		{"it disconnects from there", func() { tracker.PeerForgets("other", proxy) }, 1},
		{"it connects there again", connect, 0},
		{"that replica is gone", func() { tracker.PeerLeft("other") }, 1},
	} {
		ended = 0
		if c.do(); ended != c.want {
			t.Errorf("%s: %d sessions have ended, want %d", c.name, ended, c.want)
		}
	}
}
