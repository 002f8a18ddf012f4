package cluster_test

import (
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// manySettings have each setting at least once.
var manySettings = []*ir.DestinationSettings{
	{
		ConnectTimeout: new(time.Second), IdleTimeout: new(time.Duration(0)), MaxDuration: new(time.Minute),
		BufferLimit: 1 << 20, SocketBuffer: 65536,
		PanicThreshold: new(uint32(0)), Preconnect: &ir.Preconnect{PerEndpoint: 1.5, Predictive: 3},
		Keepalive: &ir.TCPKeepalive{Probes: 3, Idle: 10 * time.Second}, ProxyProtocol: 1, DNS: &ir.DNS{
			Refresh:   time.Second,
			IgnoreTTL: true, Family: ir.LookupBoth,
		},
		ClientProtocol: new(true), HTTP2: &ir.HTTP2Settings{
			StreamWindow: 65535, ConnectionWindow: 65535, MaxStreams: 7,
			CloseOnInvalid: true, Keepalive: &ir.HTTP2Keepalive{Interval: time.Second, Jitter: new(int32(5))},
		},
		CircuitBreaker: &ir.CircuitBreaker{
			Connections: new(uint32(1)), Pending: new(uint32(0)), Requests: new(uint32(1)),
			Retries: new(uint32(1)), PerConnection: 1, PerEndpoint: new(uint32(1)),
		},
	},
	{
		ProxyProtocol: 2, CircuitBreaker: &ir.CircuitBreaker{RetryBudget: &ir.RetryShare{Percent: 20, Minimum: 3}},
		Passive: &ir.PassiveCheck{
			Split: true, Interval: time.Second, EjectionTime: time.Second, LocalFailures: 5,
			Gateway: 3, Error: 5, MaxPercent: 100, FailurePercent: new(uint32(50)), AlwaysOne: true,
		},
		Active: &ir.ActiveCheck{
			Timeout: time.Second, Interval: time.Second, Jitter: time.Second, Unhealthy: 3, Healthy: 1, Log: "/dev/stdout",
			LogFailures: true,
			HTTP: &ir.HTTPCheck{
				Path: "/healthz", Method: "POST", Expected: []uint32{200, 204}, Retriable: []uint32{503},
				Body: []byte("x"), Answer: []byte("ok"),
			},
		},
	},
	{Active: &ir.ActiveCheck{
		Timeout: time.Second, Interval: time.Second, Unhealthy: 3, Healthy: 1,
		TCP: &ir.TCPCheck{Send: []byte("a"), Receive: []byte("b")},
	}, LoadBalancer: &ir.LoadBalancer{Type: ir.BalanceRandom}},
	{Active: &ir.ActiveCheck{
		Timeout: time.Second, Interval: time.Second, Unhealthy: 3, Healthy: 1,
		GRPC: &ir.GRPCCheck{Service: "a.b"},
	}, LoadBalancer: &ir.LoadBalancer{
		Type:      ir.BalanceRoundRobin,
		SlowStart: time.Minute,
	}},
	{
		Passive: &ir.PassiveCheck{Interval: time.Second, EjectionTime: 1000 * time.Hour},
		LoadBalancer: &ir.LoadBalancer{
			Type: ir.BalanceLeast, SlowStart: time.Minute,
			OverrideHeaders: []string{"x-endpoint"},
		},
	},
	{LoadBalancer: &ir.LoadBalancer{
		Type: ir.BalanceHash, OverrideHeaders: []string{"x-e"},
		Hash: &ir.HashPolicy{Headers: []string{"a", "b"}, TableSize: 5000011},
	}},
	{LoadBalancer: &ir.LoadBalancer{Type: ir.BalanceHash, Hash: &ir.HashPolicy{SourceIP: true}}},
	{LoadBalancer: &ir.LoadBalancer{Type: ir.BalanceHash, Hash: &ir.HashPolicy{Query: []string{"q"}, TableSize: 2}}},
	{LoadBalancer: &ir.LoadBalancer{Type: ir.BalanceHash, Hash: &ir.HashPolicy{Cookie: &ir.HashCookie{
		Name: "c",
		TTL:  new(time.Duration(0)), Attributes: []ir.Header{{Name: "SameSite", Value: "Strict"}},
	}}}},
	{LoadBalancer: &ir.LoadBalancer{Type: ir.BalanceHash}},
	{LoadBalancer: &ir.LoadBalancer{
		Type: ir.BalanceUtilization, SlowStart: time.Second,
		Utilization: &ir.Utilization{
			Blackout: new(time.Duration(0)), Expiration: new(time.Second),
			Update: new(time.Millisecond), Penalty: new(float32(1.5)), Metrics: []string{"named_metrics.foo"},
			OutOfBand: &ir.OutOfBand{Period: time.Second, Port: 99, Authority: "a"},
		},
	}},
}

func TestSettingsOfPoliciesAreValid(t *testing.T) {
	t.Parallel()
	for _, protocol := range []ir.BackendProtocol{ir.BackendHTTP1, ir.BackendHTTP2, ir.BackendTCP, ir.BackendUDP, ir.BackendWSS} {
		for _, s := range manySettings {
			for _, hostname := range []string{"", "example.com"} {
				backend := ir.Backend{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: protocol}
				prototest.Valid(t, cluster.Cluster(backend, cluster.Options{
					Hostname: hostname,
					Policy:   &ir.DestinationPolicy{Settings: s},
				}))
			}
		}
	}
}

func TestLimitsAreThoseOfClients(t *testing.T) {
	t.Parallel()
	settings := &ir.DestinationSettings{CircuitBreaker: &ir.CircuitBreaker{Requests: new(uint32(1)), Retries: new(uint32(2))}}
	backend := ir.Backend{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP1}
	got := cluster.Cluster(backend, cluster.Options{Policy: &ir.DestinationPolicy{Settings: settings}})
	for _, limits := range got.GetCircuitBreakers().GetThresholds() {
		clients := limits.GetPriority() == corev3.RoutingPriority_HIGH
		if (limits.GetMaxRequests().GetValue() == 1) != clients {
			t.Errorf("priority %s has %d requests", limits.GetPriority(), limits.GetMaxRequests().GetValue())
		}
		if (limits.GetRetryBudget() == nil) != clients {
			t.Errorf("priority %s has the retry budget %v, beside which the number of retries does not count",
				limits.GetPriority(), limits.GetRetryBudget())
		}
	}
	budget := &ir.RetryBudget{Percent: 25, Interval: time.Second}
	got = cluster.Cluster(backend, cluster.Options{Policy: &ir.DestinationPolicy{Settings: settings, RetryBudget: budget}})
	for _, limits := range got.GetCircuitBreakers().GetThresholds() {
		if limits.GetRetryBudget().GetBudgetPercent().GetValue() != 25 {
			t.Errorf("the budget of an XBackendTrafficPolicy is replaced: %v", limits.GetRetryBudget())
		}
	}
}

func TestChecksByGRPCNeedHTTP2(t *testing.T) {
	t.Parallel()
	settings := &ir.DestinationSettings{Active: &ir.ActiveCheck{GRPC: &ir.GRPCCheck{}}}
	for protocol, want := range map[ir.BackendProtocol]int{ir.BackendHTTP1: 0, ir.BackendHTTP2: 1, ir.BackendTCP: 0} {
		backend := ir.Backend{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: protocol}
		got := cluster.Cluster(backend, cluster.Options{Policy: &ir.DestinationPolicy{Settings: settings}})
		if len(got.GetHealthChecks()) != want {
			t.Errorf("%s has %d checks, want %d", protocol, len(got.GetHealthChecks()), want)
		}
	}
}
