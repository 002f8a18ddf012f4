//go:build fault

package fault

import (
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/load"
)

// TestCase22ProxyRolloutsUnderLoad replaces the proxies three times in a row under everything that can be under way: requests on
// connections that are kept, over HTTP/1.1 and HTTP/2, requests that take three seconds, streams of gRPC and WebSockets that take five,
// and connections that are idle.
//
// A request fails if its answer is anything but a complete 200; none is sent twice. A conversation fails if a message or its answer is
// lost, or if it does not come to its own end. An idle HTTP/2 connection fails if it ends without GOAWAY.
func TestCase22ProxyRolloutsUnderLoad(t *testing.T) {
	t.Parallel()
	const (
		proxies  = 2
		rollouts = 3
	)
	c := begin(t, "22", "three rollouts of the proxies under load")
	w := newFixture(t)
	w.serveEcho(t)
	w.ScaleProxies(t, gatewayName, proxies)
	w.WaitProxies(t, gatewayName, proxies)

	begun := w.startEverything(t)
	unnoticed := 0
	var slowest time.Duration
	for i := range rollouts {
		var idle []func() error
		for range 10 {
			idle = append(idle, w.idle(t))
		}
		took := w.RollProxies(t, gatewayName)
		slowest = max(slowest, took)
		t.Logf("rollout %d took %s", i+1, rounded(took))
		for _, end := range idle {
			if err := end(); err != nil {
				unnoticed++
				t.Log(err)
			}
		}
	}
	c.note("%d rollouts of %d proxies, the slowest took %s until the last old one was gone", rollouts, proxies, rounded(slowest))
	begun.stop(c)
	c.none(unnoticed, "idle HTTP/2 connections ended without GOAWAY")
}

// everything is all kinds of traffic at once.
type everything []struct {
	kind string
	run  interface{ Stop() load.Result }
}

// startEverything begins all kinds of traffic, bounded by rate or by how much is under way.
func (w *fixture) startEverything(t *testing.T) everything {
	t.Helper()
	requests := func(path string, rate int, http2 bool) *load.Run {
		return load.Start(t.Context(), load.Plan{
			URL: "http://" + w.address + path, Host: steadyHost, Once: true, HTTP2: http2,
			Rate: rate, Workers: rate * 10, Timeout: 10 * time.Second, MaxDuration: 10 * time.Minute,
		})
	}
	return everything{
		{"HTTP/1.1", requests("/", 100, false)},
		{"HTTP/2", requests("/", 50, true)},
		{"3 s HTTP/1.1", requests("/?delay=3s", 5, false)},
		{"3 s HTTP/2", requests("/?delay=3s", 5, true)},
		{"WebSocket", load.Converse(t.Context(), 10*time.Minute, repeated(10, w.webSocket)...)},
		{"gRPC stream", load.Converse(t.Context(), 10*time.Minute, repeated(10, w.grpcStream(t))...)},
	}
}

// stop ends all of it, and none may have failed.
func (e everything) stop(c *faultCase) {
	c.t.Helper()
	for _, traffic := range e {
		result := traffic.run.Stop()
		c.note("%s of %s", grouped(result.Sent), traffic.kind)
		c.none(result.Failed(), "failed")
		if result.Failed() > 0 || result.Sent == 0 {
			c.t.Errorf("case %s: want %s and no failure: %s", c.name, traffic.kind, result)
		}
	}
}
