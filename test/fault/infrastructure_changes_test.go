//go:build fault

package fault

import (
	"context"
	"net"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestInfrastructureChanges changes what runs a Gateway while it serves: more ports and fewer, more proxies and fewer, and labels that
// replace every pod.
func TestInfrastructureChanges(t *testing.T) {
	t.Parallel()
	most := amount(3, 2)
	c := begin(t, "InfrastructureChanges", "ports, proxies and labels of a Gateway change under load")
	w := newFixture(t)
	w.serveEcho(t)
	w.WaitServed(t, w.address, steadyHost)
	begun := w.startEverything(t)

	w.editGateway(t, gatewayName, func(gateway *gwv1.Gateway) {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, gwv1.Listener{Name: "more", Port: 8080, Protocol: gwv1.HTTPProtocolType})
	})
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		_, err := w.Request(ctx, net.JoinHostPort(w.address, "8080"), steadyHost)
		return err
	})
	w.ScaleProxies(t, gatewayName, int32(most)) //nolint:gosec // a few
	w.WaitProxies(t, gatewayName, most)
	old := w.ProxyNames(t, gatewayName)
	w.editGateway(t, gatewayName, func(gateway *gwv1.Gateway) {
		gateway.Spec.Infrastructure = &gwv1.GatewayInfrastructure{Labels: map[gwv1.LabelKey]gwv1.LabelValue{"example.com/team": "edge"}}
	})
	took := w.WaitProxiesReplaced(t, gatewayName, old)
	w.editGateway(t, gatewayName, func(gateway *gwv1.Gateway) { gateway.Spec.Listeners = gateway.Spec.Listeners[:1] })
	w.ScaleProxies(t, gatewayName, 1)
	w.WaitProxies(t, gatewayName, 1)
	gone := w.WaitProxiesGone(t, gatewayName, 1)

	c.note("%d proxies replaced in %s, all but one gone after %s more", most, rounded(took), rounded(gone))
	begun.stop(c)
}
