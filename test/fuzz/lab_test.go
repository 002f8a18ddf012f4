//go:build fuzz

package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/pki"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// ackTimeout is how long Envoy may take to acknowledge a set of objects. It takes milliseconds on a machine with nothing else to do.
// A NACK or an exit ends the wait.
const ackTimeout = 2 * time.Minute

// lab is a control plane and one live proxy of one Gateway.
type lab struct {
	pipeline *pipeline.Pipeline
	proxies  *proxies
	envoy    *envoy
	close    func()
	// validationErrors is what the pipeline logs when its last check rejects a resource.
	validationErrors bytes.Buffer
	// held are the objects the control plane knows.
	held map[subject]store.Change
}

type subject struct {
	kind store.Kind
	key  string
}

func newLab(t *testing.T, gateway ir.Name) *lab {
	t.Helper()
	directory := t.TempDir()
	settings := render.Settings{SystemNamespace: "gatewright-system"}
	lives := pki.DefaultLifetimes()
	ca, _, err := pki.Advance(nil, lives, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(directory, "xds.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{held: map[subject]store.Change{}, proxies: newProxies(gateway, filepath.Join(directory, "beacon.sock"))}
	l.pipeline = pipeline.New(pipeline.Outputs{
		Proxies: l.proxies, Fleets: discard{}, Selectors: discardSelectors{}, Statuses: discard{}, Convergence: discard{}, Peers: discard{},
	}, prometheus.NewRegistry(), pipeline.WithLog(slog.New(slog.NewTextHandler(&l.validationErrors, nil))),
		pipeline.WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true}), pipeline.WithSocketDirectories([]string{"/run/sockets"}),
		pipeline.WithGlobalRateLimits(true), pipeline.WithSystemNamespace(settings.SystemNamespace))
	l.pipeline.Start()
	l.proxies.cache.Open()
	server := xds.NewServer(l.proxies.cache, onlyProxy{gateway}, slog.New(slog.DiscardHandler), l.proxies.metrics, l.proxies)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(ctx, listener, pki.ServerTLS(fixed{ca}, lives, time.Now, settings.ServerNames()...))
	}()
	l.envoy = startEnvoy(t, directory, socket, gateway, settings, ca.Bundle())
	l.close = func() {
		l.envoy.stop()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	if err := l.await(); err != nil {
		l.close()
		t.Fatalf("with nothing to serve: %v", err)
	}
	return l
}

// proxyName is that of the only proxy, and all it needs for a token.
const proxyName = "fuzz"

// onlyProxy knows the token of the only proxy, which serves the Gateway.
type onlyProxy struct{ gateway ir.Name }

// Authenticate implements [xds.Authenticator].
func (o onlyProxy) Authenticate(_ context.Context, token string) (xds.Proof, error) {
	if token != proxyName {
		return xds.Proof{}, fmt.Errorf("the token is %q", token)
	}
	return xds.Proof{Identity: xds.Identity{Group: xds.GroupID(o.gateway), Pod: proxyName}, Expires: time.Now().Add(24 * time.Hour)}, nil
}

// fixed is an authority that never changes.
type fixed struct{ authority *pki.Authority }

// Authority implements [pki.Source].
func (f fixed) Authority() *pki.Authority { return f.authority }

// apply makes the set all there is, and waits until Envoy has taken what follows from it. It says what went wrong.
func (l *lab) apply(set []store.Change) error {
	next := map[subject]store.Change{}
	for _, c := range set {
		next[subject{c.Kind, c.Key}] = c
		l.pipeline.Put(c)
	}
	for s := range l.held {
		if _, stays := next[s]; !stays {
			l.pipeline.Put(store.Change{Kind: s.kind, Key: s.key})
		}
	}
	l.held = next
	if err := l.step(); err != nil {
		return err
	}
	return l.await()
}

// step computes; a panic is what is looked for.
func (l *lab) step() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	l.validationErrors.Reset()
	l.pipeline.Start()
	if l.validationErrors.Len() > 0 {
		return fmt.Errorf("%w: %s", errInvalid, l.validationErrors.String())
	}
	return nil
}

// await waits for Envoy's answers to all that was sent, and for its listeners to be in use.
func (l *lab) await() error {
	deadline := time.After(ackTimeout)
	for {
		select {
		case <-l.envoy.gone:
			return fmt.Errorf("%w: %w\n%s", errEnvoyGone, l.envoy.exit, l.envoy.words())
		case reason := <-l.proxies.nacks:
			return fmt.Errorf("%w: %s", errRefused, reason)
		case <-l.proxies.taken:
			return l.awaitListeners(deadline)
		case <-deadline:
			return fmt.Errorf("%w\n%s", errUnanswered, l.envoy.words())
		}
	}
}

func (l *lab) awaitListeners(deadline <-chan time.Time) error {
	for {
		n, err := l.envoy.warming()
		if err == nil && n == 0 && l.proxies.quiet() {
			return nil
		}
		select {
		case <-l.envoy.gone:
			return fmt.Errorf("%w: %w\n%s", errEnvoyGone, l.envoy.exit, l.envoy.words())
		case reason := <-l.proxies.nacks:
			return fmt.Errorf("%w: %s", errRefused, reason)
		case <-deadline:
			return fmt.Errorf("%w: %d listeners are still warming (%w)\n%s", errUnanswered, n, err, l.envoy.words())
		case <-time.After(time.Millisecond):
		}
	}
}

// discard receives fleets and statuses and does nothing with them.
type discard struct{}

func (discard) Set(ir.Gateway)                                                    {}
func (discard) Freeze(ir.Gateway)                                                 {}
func (discard) Release(ir.Name, ir.Fleet)                                         {}
func (discard) Delete(ir.Name)                                                    {}
func (discard) SetClass(string, outcome.Class)                                    {}
func (discard) SetGateway(string, outcome.Gateway)                                {}
func (discard) ReleaseGateway(string, int64)                                      {}
func (discard) SetListenerSet(string, outcome.ListenerSet)                        {}
func (discard) WithdrawListenerSet(string, outcome.ListenerSet)                   {}
func (discard) SetPolicy(store.Kind, string, outcome.Policy)                      {}
func (discard) SetRoute(store.Kind, string, outcome.Route)                        {}
func (discard) Forget(store.Kind, string)                                         {}
func (discard) Reach(map[xds.GroupID]string, time.Time)                           {}
func (discard) Reject(store.Kind, string, string, outcome.Rejection)              {}
func (discard) Accept(store.Kind, string, string)                                 {}
func (discard) Acked(xds.GroupID, string, map[string]struct{}) (acked, ready int) { return 0, 0 }
func (discard) NACKed(xds.GroupID)                                                {}
func (discard) Reported(map[xds.GroupID]int)                                      {}
func (discard) Knows(xds.GroupID, string) bool                                    { return true }
func (discard) OnDisconnect(func())                                               {}
func (discard) Live(store.Kind, string, string) bool                              { return true }
func (discard) Offer(string, string, []byte)                                      {}
func (discard) Withdraw(string)                                                   {}

// discardSelectors receives selectors and does nothing with them.
type discardSelectors struct{}

func (discardSelectors) Set(ir.Selector)                  {}
func (discardSelectors) Release(ir.BackendTarget, string) {}
func (discardSelectors) Delete(ir.BackendTarget)          {}
