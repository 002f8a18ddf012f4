package bootstrap

import (
	"slices"
	"testing"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestThePortForProbesIsBounded: every pod of the cluster can connect to it, and overload does not count there.
func TestThePortForProbesIsBounded(t *testing.T) {
	t.Parallel()
	bootstrap, _ := exampleBootstrap(t, exampleOptions())
	listener := bootstrap.GetStaticResources().GetListeners()[0]
	runtime := bootstrap.GetLayeredRuntime().GetLayers()[0].GetStaticLayer().GetFields()
	if limit := runtime["envoy.resource_limits.listener."+listener.GetName()+".connection_limit"].GetNumberValue(); limit < 100 ||
		limit > 10_000 {
		t.Errorf("it takes %v connections", limit)
	}
	manager := &hcmv3.HttpConnectionManager{}
	if err := listener.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	common := manager.GetCommonHttpProtocolOptions()
	for name, got := range map[string]time.Duration{
		"headers":            manager.GetRequestHeadersTimeout().AsDuration(),
		"a request":          manager.GetRequestTimeout().AsDuration(),
		"an idle stream":     manager.GetStreamIdleTimeout().AsDuration(),
		"an idle connection": common.GetIdleTimeout().AsDuration(),
		"any connection":     common.GetMaxConnectionDuration().AsDuration(),
	} {
		if got <= 0 || got > 5*time.Minute {
			t.Errorf("it waits %s for %s", got, name)
		}
	}
	for _, cluster := range bootstrap.GetStaticResources().GetClusters() {
		if cluster.GetName() != adminCluster {
			continue
		}
		if n := cluster.GetCircuitBreakers().GetThresholds()[0].GetMaxRequests().GetValue(); n == 0 || n > 16 {
			t.Errorf("metrics are written %d times at once", n)
		}
	}
}

func TestProbesAreAnsweredInEveryFamily(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		families ir.Families
		want     []string
	}{
		{"nothing is known", nil, []string{"0.0.0.0"}},
		{"IPv4", ir.Families{ir.IPv4}, []string{"0.0.0.0"}},
		{"IPv6", ir.Families{ir.IPv6}, []string{"::"}},
		{"both", ir.Families{ir.IPv6, ir.IPv4}, []string{"0.0.0.0", "::"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			options := exampleOptions()
			options.Families = c.families
			bootstrap, _ := exampleBootstrap(t, options)
			ready := bootstrap.GetStaticResources().GetListeners()[0]
			got := []string{ready.GetAddress().GetSocketAddress().GetAddress()}
			for _, more := range ready.GetAdditionalAddresses() {
				if more.GetAddress().GetSocketAddress().GetPortValue() != ReadyPort {
					t.Errorf("port of %v", more)
				}
				got = append(got, more.GetAddress().GetSocketAddress().GetAddress())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("binds %v, want %v", got, c.want)
			}
		})
	}
}
