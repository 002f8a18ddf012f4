package cluster_test

import (
	"maps"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		protocol ir.BackendProtocol
		wantName string
		http2    bool
	}{
		{"an HTTP/1.1 backend is named by its Service and port", ir.BackendHTTP1, "shop/cart/8080", false},
		{"an HTTP/2 backend has a cluster of its own", ir.BackendHTTP2, "shop/cart/8080/http2", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 8080, Protocol: tt.protocol}
			got := cluster.Cluster(b, cluster.Options{})
			prototest.Valid(t, got)
			if got.GetName() != tt.wantName {
				t.Errorf("name is %q, want %q", got.GetName(), tt.wantName)
			}
			if name := got.GetEdsClusterConfig().GetServiceName(); name != "shop/cart/8080" {
				t.Errorf("endpoints are asked for as %q", name)
			}
			var options upstreamhttpv3.HttpProtocolOptions
			for _, packed := range got.GetTypedExtensionProtocolOptions() {
				if err := packed.UnmarshalTo(&options); err != nil {
					t.Fatal(err)
				}
			}
			explicit := options.GetExplicitHttpConfig()
			if (explicit.GetHttp2ProtocolOptions() != nil) != tt.http2 || (explicit.GetHttpProtocolOptions() != nil) == tt.http2 {
				t.Errorf("protocol is %v", explicit)
			}
			if !proto.Equal(got, cluster.Cluster(b, cluster.Options{})) {
				t.Error("the same backend gave another cluster")
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const envoyDefault = 1024
	for _, c := range []struct {
		name     string
		protocol ir.BackendProtocol
		want     map[corev3.RoutingPriority]uint32
	}{
		{
			"copies of requests take nothing from requests", ir.BackendHTTP1,
			map[corev3.RoutingPriority]uint32{corev3.RoutingPriority_DEFAULT: 10000, corev3.RoutingPriority_HIGH: 10000},
		},
		{
			"HTTP/2 has the same", ir.BackendHTTP2,
			map[corev3.RoutingPriority]uint32{corev3.RoutingPriority_DEFAULT: 10000, corev3.RoutingPriority_HIGH: 10000},
		},
		{"connections have no priority", ir.BackendTCP, map[corev3.RoutingPriority]uint32{corev3.RoutingPriority_DEFAULT: 10000}},
		{
			"sessions of datagrams are limited as connections", ir.BackendUDP,
			map[corev3.RoutingPriority]uint32{corev3.RoutingPriority_DEFAULT: 10000},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := map[corev3.RoutingPriority]uint32{}
			for _, limit := range cluster.Cluster(ir.Backend{Protocol: c.protocol}, cluster.Options{}).GetCircuitBreakers().GetThresholds() {
				got[limit.GetPriority()] = limit.GetMaxConnections().GetValue()
				for what, value := range map[string]uint32{
					"pending":  limit.GetMaxPendingRequests().GetValue(),
					"requests": limit.GetMaxRequests().GetValue(),
				} {
					if value != limit.GetMaxConnections().GetValue() || value <= envoyDefault {
						t.Errorf("%s are limited to %d", what, value)
					}
				}
				budget := limit.GetRetryBudget()
				if budget.GetBudgetPercent().GetValue() != 20 || budget.GetMinRetryConcurrency().GetValue() != 1000 || limit.GetMaxRetries() != nil {
					t.Errorf("retries are limited by %v", limit)
				}
				if limit.GetRetryBudget().GetBudgetInterval() != nil {
					t.Error("each cluster has a timer on the main thread")
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("limits are %v, want %v", got, c.want)
			}
		})
	}
}
