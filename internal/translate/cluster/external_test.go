package cluster_test

import (
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	commondnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestExternalHostname(t *testing.T) {
	t.Parallel()
	backend := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "api"}, Kind: ir.KindXBackend, Port: 443, Protocol: ir.BackendHTTP1}
	t.Run("its addresses are asked for by its name alone", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(backend, cluster.Options{Hostname: "api.example.com"})
		prototest.Valid(t, c)
		var names dnsv3.DnsCluster
		if err := c.GetClusterType().GetTypedConfig().UnmarshalTo(&names); err != nil {
			t.Fatal(err)
		}
		var resolver caresv3.CaresDnsResolverConfig
		if err := names.GetTypedDnsResolverConfig().GetTypedConfig().UnmarshalTo(&resolver); err != nil {
			t.Fatal(err)
		}
		socket := c.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress()
		if !names.GetRespectDnsTtl() || !resolver.GetDnsResolverOptions().GetNoDefaultSearchDomain() ||
			socket.GetAddress() != "api.example.com" || socket.GetPortValue() != 443 {
			t.Errorf("cluster: %v", c)
		}
		if c.GetWaitForWarmOnInit() == nil || c.GetWaitForWarmOnInit().GetValue() {
			t.Error("a name that is never answered holds back all other clusters")
		}
	})
	t.Run("one that cannot be trusted is not asked for", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(
			backend,
			cluster.Options{Hostname: "api.example.com", Policy: &ir.DestinationPolicy{TLS: &ir.BackendTLS{FailClosed: true}}},
		)
		prototest.Valid(t, c)
		if c.GetType() != clusterv3.Cluster_STATIC || len(c.GetLoadAssignment().GetEndpoints()) != 0 {
			t.Errorf("cluster: %v", c)
		}
	})
}

func TestExternalHostnameIsAskedForEveryHalfMinute(t *testing.T) {
	t.Parallel()
	backend := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "api"}, Kind: ir.KindXBackend, Port: 443, Protocol: ir.BackendHTTP1}
	var names dnsv3.DnsCluster
	if err := cluster.Cluster(backend, cluster.Options{Hostname: "api.example.com"}).
		GetClusterType().
		GetTypedConfig().
		UnmarshalTo(&names); err != nil {
		t.Fatal(err)
	}
	prototest.Valid(t, &names)
	for what, rate := range map[string]*durationpb.Duration{
		"records that are valid for a second": names.GetDnsMinRefreshRate(),
		// Envoy's own is 5 s.
		"records that are valid for no time, and no records": names.GetDnsRefreshRate(),
	} {
		if rate.AsDuration() < 30*time.Second {
			t.Errorf("%s: asked for every %s", what, rate.AsDuration())
		}
	}
	if names.GetDnsJitter().AsDuration() == 0 {
		t.Error("all proxies ask together")
	}
	failure := names.GetDnsFailureRefreshRate()
	if failure.GetBaseInterval().AsDuration() < 5*time.Second || failure.GetMaxInterval().AsDuration() < 30*time.Second {
		t.Errorf("what is not answered is asked for again after %v", failure)
	}
}

func TestExternalHostnameIsAskedForInThePreferredFamilyFirst(t *testing.T) {
	t.Parallel()
	backend := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "api"}, Kind: ir.KindXBackend, Port: 443, Protocol: ir.BackendHTTP1}
	for _, c := range []struct {
		name     string
		families ir.Families
		want     commondnsv3.DnsLookupFamily
	}{
		{"nothing is known", nil, commondnsv3.DnsLookupFamily_V4_PREFERRED},
		{"IPv6 alone", ir.Families{ir.IPv6}, commondnsv3.DnsLookupFamily_AUTO},
		{"both", ir.Families{ir.IPv4, ir.IPv6}, commondnsv3.DnsLookupFamily_V4_PREFERRED},
		{"both, IPv6 first", ir.Families{ir.IPv6, ir.IPv4}, commondnsv3.DnsLookupFamily_AUTO},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var names dnsv3.DnsCluster
			way := cluster.Options{Hostname: "api.example.com", Families: c.families}
			if err := cluster.Cluster(backend, way).GetClusterType().GetTypedConfig().UnmarshalTo(&names); err != nil {
				t.Fatal(err)
			}
			if names.GetDnsLookupFamily() != c.want {
				t.Errorf("asks %s, want %s", names.GetDnsLookupFamily(), c.want)
			}
		})
	}
}
