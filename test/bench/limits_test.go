//go:build bench

package bench

import (
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/bench/baseline"
	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/live"
)

// limits are the lower bounds: a bare informer, and an Envoy whose control plane does nothing but push.
type limits struct {
	scenario *scenario
	server   *baseline.Server
	// address is that of the Envoy.
	address string
	// routes is how many it has.
	routes int
	// at is the pod that the endpoint which moves is at.
	at *corev1.Pod
	// unused is an EndpointSlice of no Service.
	unused *discoveryv1.EndpointSlice
}

// The clusters of the Envoy, and the name of what is not used.
const (
	unused        = "unused"
	steadyCluster = "steady"
	movedCluster  = "moved"
)

func newLimits(t *testing.T, s *scenario) *limits {
	t.Helper()
	w := s.tenants[0]
	address := w.NodeAddress(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	endpoint, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%s is not the address of a TCP port", listener.Addr())
	}
	l := &limits{scenario: s, server: baseline.Start(t.Context(), listener), at: &s.pods[0], unused: live.EndpointSlice(
		unused, s.pods[0].Status.PodIP,
	)}
	w.Make(t, l.unused)
	l.set(t,
		baseline.Cluster(steadyCluster), baseline.Endpoint(steadyCluster, s.pods[0].Status.PodIP, live.EchoPort),
		baseline.Cluster(movedCluster), baseline.Endpoint(movedCluster, l.at.Status.PodIP, live.EchoPort),
		baseline.ScopedListener(baseline.HTTPPort), baseline.Scope(movedHost, movedCluster),
	)
	configuration, err := baseline.Dynamic(address, uint32(endpoint.Port)) //nolint:gosec // a TCP port
	if err != nil {
		t.Fatal(err)
	}
	pod := s.startEnvoy(t, "engine", configuration)
	l.address = net.JoinHostPort(pod.Status.PodIP, fmt.Sprint(baseline.HTTPPort))
	l.wait(t, appears(l.address, movedHost))
	return l
}

func (l *limits) set(t *testing.T, resources ...baseline.Resource) {
	t.Helper()
	if err := l.server.Set(resources...); err != nil {
		t.Fatal(err)
	}
}

func (l *limits) wait(t *testing.T, e expectation) {
	t.Helper()
	if err := l.scenario.ask.until(t.Context(), e, &figures.Probe{}); err != nil {
		t.Fatalf("the engine: %v (NACK: %v)", err, l.server.NACK())
	}
	if err := l.server.NACK(); err != nil {
		t.Fatalf("Envoy refused: %v", err)
	}
}

// fill gives the Envoy as many routes as there are.
func (l *limits) fill(t *testing.T) {
	t.Helper()
	var scopes []baseline.Resource
	for i := l.routes; i < l.scenario.routes; i++ {
		scopes = append(scopes, baseline.Scope(hostOf(i), steadyCluster))
	}
	l.set(t, scopes...)
	l.routes = l.scenario.routes
	l.wait(t, appears(l.address, hostOf(l.routes-1)))
}

// engineRoute pushes one more route.
func (l *limits) engineRoute(t *testing.T, i int) time.Duration {
	t.Helper()
	scope := baseline.Scope(fmt.Sprintf("probe-%04d.bench.example.com", i), steadyCluster)
	took := l.scenario.ask.measure(t, appears(l.address, scope.Name), &figures.Probe{}, func() error { return l.server.Set(scope) })
	if err := l.server.Remove(scope.Message, scope.Name); err != nil {
		t.Fatal(err)
	}
	l.wait(t, disappears(l.address, scope.Name))
	return took
}

// engineEndpoint pushes an endpoint that has moved.
func (l *limits) engineEndpoint(t *testing.T) time.Duration {
	t.Helper()
	from := l.at
	l.at = l.scenario.other(from.Status.PodIP)
	e := expectation{l.address, movedHost, servedBy(from.Name), servedBy(l.at.Name)}
	return l.scenario.ask.measure(t, e, &figures.Probe{}, func() error {
		return l.server.Set(baseline.Endpoint(movedCluster, l.at.Status.PodIP, live.EchoPort))
	})
}

// watchRoute creates a route of no Gateway.
func (l *limits) watchRoute(t *testing.T, i int) time.Duration {
	t.Helper()
	w := l.scenario.tenants[0]
	// What is written is not read meanwhile: the answer is decoded into it.
	name := fmt.Sprintf(unused+"-%04d", i)
	route := live.HTTPRoute(name, "unused", unused+".bench.example.com", steadyService)
	route.Namespace = w.Namespace
	took := l.scenario.watcher.measure(t, func(o client.Object) bool {
		r, ok := o.(*gwv1.HTTPRoute)
		return ok && r.Namespace == w.Namespace && r.Name == name
	}, func() error { return w.Create(t.Context(), route) })
	if err := w.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	return took
}

// watchEndpoint writes an EndpointSlice that is not used.
func (l *limits) watchEndpoint(t *testing.T) time.Duration {
	t.Helper()
	w := l.scenario.tenants[0]
	to := l.scenario.other(l.unused.Endpoints[0].Addresses[0]).Status.PodIP
	return l.scenario.watcher.measure(t, func(o client.Object) bool {
		s, ok := o.(*discoveryv1.EndpointSlice)
		return ok && s.Namespace == w.Namespace && s.Name == unused && s.Endpoints[0].Addresses[0] == to
	}, func() error { return l.scenario.move(t.Context(), w.Fixture, l.unused) })
}
