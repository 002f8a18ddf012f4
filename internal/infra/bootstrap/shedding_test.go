package bootstrap

import (
	"slices"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	heapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// withProxies is what the example's proxies start with.
func withProxies(t *testing.T, edit func(*ir.Proxies)) *bootstrapv3.Bootstrap {
	t.Helper()
	gateway := exampleGateway()
	edit(&gateway.Fleet.Proxies)
	bootstrap, _ := bootstrapOf(t, gateway, exampleOptions())
	return bootstrap
}

func withMemoryLimit(t *testing.T, limit int64) *bootstrapv3.Bootstrap {
	t.Helper()
	options := exampleOptions()
	options.MemoryLimit = limit
	bootstrap, _ := exampleBootstrap(t, options)
	return bootstrap
}

func TestHeapFollowsTheMemoryLimit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		limit int64
		want  uint64
	}{
		{"no limit", 0, 0},
		{"nine tenths of a large one", 10 << 30, 9 << 30},
		{"a small one without what is needed beside", 128 << 20, 96 << 20},
		{"half of a tiny one", 40 << 20, 20 << 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			manager := withMemoryLimit(t, test.limit).GetOverloadManager()
			heap := &heapv3.FixedHeapConfig{}
			i := slices.IndexFunc(manager.GetResourceMonitors(), func(m *overloadv3.ResourceMonitor) bool {
				return m.GetName() == heapMonitor
			})
			if i >= 0 {
				if err := manager.GetResourceMonitors()[i].GetTypedConfig().UnmarshalTo(heap); err != nil {
					t.Fatal(err)
				}
			}
			if heap.GetMaxHeapSizeBytes() != test.want || (len(manager.GetActions()) > 0) != (test.want > 0) {
				t.Errorf("got %d with %v, want %d", heap.GetMaxHeapSizeBytes(), manager.GetActions(), test.want)
			}
		})
	}
}

func TestOverloadComesInOrder(t *testing.T) {
	t.Parallel()
	last := 0.0
	var names []string
	for _, action := range withProxies(t, func(*ir.Proxies) {}).GetOverloadManager().GetActions() {
		names = append(names, strings.TrimPrefix(action.GetName(), "envoy.overload_actions."))
		if action.GetName() == resetAction {
			continue
		}
		for _, trigger := range action.GetTriggers() {
			if trigger.GetThreshold().GetValue() <= last {
				t.Errorf("%s does not come after %v", action, last)
			}
			last = trigger.GetThreshold().GetValue()
		}
	}
	want := []string{
		"shrink_heap", "disable_http_keepalive", "stop_accepting_requests", "reject_incoming_connections", "reset_high_memory_stream",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestStreamsThatHoldMemoryAreReset(t *testing.T) {
	t.Parallel()
	manager := withProxies(t, func(*ir.Proxies) {}).GetOverloadManager()
	i := slices.IndexFunc(manager.GetActions(), func(a *overloadv3.OverloadAction) bool { return a.GetName() == resetAction })
	if i < 0 || manager.GetActions()[i].GetTriggers()[0].GetScaled().GetScalingThreshold() != resetFrom {
		t.Fatalf("clients that do not read hold memory for good: %v", manager.GetActions())
	}
	if power := manager.GetBufferFactoryConfig().GetMinimumAccountToTrackPowerOfTwo(); power != resetPower {
		t.Errorf("Envoy keeps account of streams from 2^%d bytes", power)
	}
	if withMemoryLimit(t, 0).GetOverloadManager().GetBufferFactoryConfig() != nil {
		t.Error("Envoy keeps account where there is no limit")
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	for want, edit := range map[int64]func(*ir.Proxies){
		50_000: func(*ir.Proxies) {}, 7: func(p *ir.Proxies) { p.Connections = new(int64(7)) },
	} {
		bootstrap := withProxies(t, edit)
		limit := &connectionsv3.DownstreamConnectionsConfig{}
		if err := bootstrap.GetOverloadManager().GetResourceMonitors()[0].GetTypedConfig().UnmarshalTo(limit); err != nil {
			t.Fatal(err)
		}
		if limit.GetMaxActiveDownstreamConnections() != want || !bootstrap.GetStaticResources().GetListeners()[0].GetIgnoreGlobalConnLimit() {
			t.Errorf("got %v, want %d", limit, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	counts := func(b *bootstrapv3.Bootstrap, name string) bool {
		for _, pattern := range b.GetStatsConfig().GetStatsMatcher().GetInclusionList().GetPatterns() {
			if strings.HasPrefix(name, pattern.GetPrefix()) {
				return true
			}
		}
		return false
	}
	tests := []struct {
		name             string
		edit             func(*ir.Proxies)
		served, backends bool
	}{
		{"they are served, and say nothing of backends", func(*ir.Proxies) {}, true, false},
		{"they are hidden", func(p *ir.Proxies) { p.Metrics.Hidden = true }, false, false},
		{"backends are counted", func(p *ir.Proxies) { p.Metrics.Backends = true }, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bootstrap := withProxies(t, test.edit)
			served := len(bootstrap.GetStaticResources().GetClusters()) == 2 && strings.Contains(bootstrap.String(), "stats/prometheus")
			if served != test.served || counts(bootstrap, "cluster.infra/v1.upstream_rq") != test.backends || !counts(
				bootstrap, "server.memory_allocated",
			) {
				t.Errorf("served: %v, backends: %v", served, counts(bootstrap, "cluster.infra/v1.upstream_rq"))
			}
			if !counts(bootstrap, "tcp.tcp-9000.downstream_cx_total") || !counts(bootstrap, "udp.udp-53.downstream_sess_total") {
				t.Error("connections and datagrams that are passed on are not counted")
			}
		})
	}
}
