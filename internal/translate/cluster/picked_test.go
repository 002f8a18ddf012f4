package cluster_test

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	overridev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

var model = ir.Backend{Object: ir.Name{Namespace: "shop", Name: "model"}, Kind: ir.KindInferencePool, Protocol: ir.BackendHTTP1}

// overrideOf is how a cluster takes the choice of a picker, and the name of the policy behind it.
func overrideOf(t *testing.T, c *clusterv3.Cluster) (override *overridev3.OverrideHost, fallback string) {
	t.Helper()
	prototest.Valid(t, c)
	override = &overridev3.OverrideHost{}
	policies := c.GetLoadBalancingPolicy().GetPolicies()
	if len(policies) != 1 {
		t.Fatalf("policies: %v", policies)
	}
	if err := policies[0].GetTypedExtensionConfig().GetTypedConfig().UnmarshalTo(override); err != nil {
		t.Fatal(err)
	}
	return override, override.GetFallbackPolicy().GetPolicies()[0].GetTypedExtensionConfig().GetName()
}

func TestPicked(t *testing.T) {
	t.Parallel()
	t.Run("the picker's header and metadata choose among the endpoints of the pool", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(model, cluster.Options{Picker: &ir.EndpointPicker{FailOpen: true}})
		override, fallback := overrideOf(t, c)
		sources, served := override.GetOverrideHostSources(), override.GetSelectedHostKey()
		if len(sources) != 2 || sources[0].GetHeader() != "x-gateway-destination-endpoint" || sources[1].GetMetadata().GetKey() != "envoy.lb" ||
			sources[1].GetMetadata().GetPath()[0].GetKey() != "x-gateway-destination-endpoint" || served.GetKey() != "envoy.lb" ||
			served.GetPath()[0].GetKey() != "x-gateway-destination-endpoint-served" || fallback != "envoy.load_balancing_policies.least_request" {
			t.Errorf("override: %v", override)
		}
		if c.GetType() != clusterv3.Cluster_EDS || c.GetEdsClusterConfig().GetServiceName() != "InferencePool/shop/model/0" {
			t.Errorf("cluster: %v", c)
		}
	})
	t.Run("the load balancing of a policy is used where the picker chose nothing", func(t *testing.T) {
		t.Parallel()
		settings := &ir.DestinationSettings{LoadBalancer: &ir.LoadBalancer{Type: ir.BalanceRoundRobin, OverrideHeaders: []string{"x-endpoint"}}}
		override, fallback := overrideOf(t, cluster.Cluster(model, cluster.Options{
			Picker: &ir.EndpointPicker{FailOpen: true}, Policy: &ir.DestinationPolicy{Settings: settings},
		}))
		if fallback != "envoy.load_balancing_policies.round_robin" || override.GetOverrideHostSources()[2].GetHeader() != "x-endpoint" {
			t.Errorf("override: %v", override)
		}
	})
	t.Run("without a picker no header chooses", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(model, cluster.Options{})
		prototest.Valid(t, c)
		if c.GetLoadBalancingPolicy() != nil {
			t.Errorf("cluster: %v", c)
		}
	})
	t.Run("a pool that cannot be served gets no connection", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(model, cluster.Options{Policy: &ir.DestinationPolicy{TLS: &ir.BackendTLS{FailClosed: true}}})
		prototest.Valid(t, c)
		if c.GetType() != clusterv3.Cluster_STATIC || len(c.GetLoadAssignment().GetEndpoints()) != 0 {
			t.Errorf("cluster: %v", c)
		}
	})
}

// TestPickedAlone: only the picker chooses for a pool that fails closed, whatever a policy says.
func TestPickedAlone(t *testing.T) {
	t.Parallel()
	settings := &ir.DestinationSettings{LoadBalancer: &ir.LoadBalancer{Type: ir.BalanceRoundRobin, OverrideHeaders: []string{"x-endpoint"}}}
	override, fallback := overrideOf(t, cluster.Cluster(model, cluster.Options{
		Picker: &ir.EndpointPicker{}, Policy: &ir.DestinationPolicy{Settings: settings},
	}))
	if fallback != "envoy.load_balancing_policies.subset" || len(override.GetOverrideHostSources()) != 2 {
		t.Errorf("override: %v", override)
	}
	var subset subsetv3.Subset
	if err := override.GetFallbackPolicy().GetPolicies()[0].GetTypedExtensionConfig().GetTypedConfig().UnmarshalTo(&subset); err != nil {
		t.Fatal(err)
	}
	if subset.GetFallbackPolicy() != subsetv3.Subset_NO_FALLBACK || len(subset.GetSubsetSelectors()) != 1 {
		t.Errorf("fallback: %v", &subset)
	}
}

func TestClusterOfAPicker(t *testing.T) {
	t.Parallel()
	b := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "picker"}, Port: 9002, Protocol: ir.BackendPicker}
	if parsed, ok := ir.ParseBackend(b.String()); !ok || parsed != b {
		t.Errorf("%s is read as %+v", b, parsed)
	}
	c := cluster.Cluster(b, cluster.Options{Policy: &ir.DestinationPolicy{
		TLS: &ir.BackendTLS{Settings: &ir.BackendTLSSettings{SkipVerify: true}},
	}})
	prototest.Valid(t, c)
	var tls tlsv3.UpstreamTlsContext
	if err := c.GetTransportSocket().GetTypedConfig().UnmarshalTo(&tls); err != nil {
		t.Fatal(err)
	}
	if tls.GetCommonTlsContext().GetAlpnProtocols()[0] != "h2" || tls.GetCommonTlsContext().GetValidationContextType() != nil {
		t.Errorf("TLS: %v", &tls)
	}
	var http upstreamhttpv3.HttpProtocolOptions
	if err := c.GetTypedExtensionProtocolOptions()["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"].UnmarshalTo(&http); err != nil {
		t.Fatal(err)
	}
	if http.GetExplicitHttpConfig().GetHttp2ProtocolOptions() == nil {
		t.Errorf("HTTP: %v", &http)
	}
}
