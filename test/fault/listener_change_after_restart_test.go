//go:build fault

package fault

import (
	"context"
	"net"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase06ListenerChangeAfterRestart restarts the control plane, and then changes listeners of a port that serves HTTPS: one more, one
// that takes other routes, one less. Envoy makes a new listener each time, which must not wait for secrets that the proxy has already.
//
//nolint:paralleltest // it takes the controller from every other case
func TestCase06ListenerChangeAfterRestart(t *testing.T) {
	const listeners = 5
	c := begin(t, "6", "a listener changes after a restart")
	w := newSecureFixture(t, listeners)
	hosts := make([]string, listeners)
	for i := range hosts {
		hosts[i] = secureHost(i)
		w.waitSecure(t, hosts[i])
	}
	proxy := w.OneProxy(t, secureGateway)
	before := stats(t, proxy)
	run := w.startHandshakes(t, hosts)
	began := time.Now()
	restart := w.RestartControllers(t)
	w.waitConnected(t, proxy)

	start := time.Now()
	changes := 0
	for end := start.Add(span(10*time.Minute, 30*time.Second)); time.Now().Before(end); changes++ {
		w.Make(t, live.TLSSecret(t, secureName(listeners+changes), secureHost(listeners+changes)))
		w.editGateway(t, secureGateway, func(gateway *gwv1.Gateway) {
			// The first ones stay; the last of the others goes when there are more than a few.
			if len(gateway.Spec.Listeners) > 2*listeners {
				gateway.Spec.Listeners = gateway.Spec.Listeners[:listeners]
			}
			gateway.Spec.Listeners = append(gateway.Spec.Listeners, secureListener(listeners+changes))
		})
		w.waitSecure(t, secureHost(listeners+changes))
		t.Logf("change %d of listeners live after %s of load", changes, rounded(time.Since(began)))
		time.Sleep(time.Second)
	}
	result := run.Stop()
	after := stats(t, proxy)
	c.note("controllers ready after %s, %d changes of listeners", rounded(restart), changes)
	c.load(result)
	const notReady = "downstream_context_secrets_not_ready"
	c.none(sum(after, notReady)-sum(before, notReady), "handshakes without a secret")
	c.none(sum(after, ".init_fetch_timeout"), "secret time-outs")
}

func (w *fixture) waitSecure(t *testing.T, host string) {
	t.Helper()
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		// As in waitHost: a SYN that is lost would cost a second.
		ctx, cancel := clock.WithTimeout(ctx, time.Second/2)
		defer cancel()
		return live.ServedSecurely(ctx, net.JoinHostPort(w.address, "443"), host)
	})
}
