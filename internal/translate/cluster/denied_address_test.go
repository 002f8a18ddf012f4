package cluster_test

import (
	"net/netip"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	upstreamipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/matchers/upstream_ip_port/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// deniedBy reads which addresses a cluster denies; nil if it has no filter for that.
func deniedBy(t *testing.T, c *clusterv3.Cluster) []netip.Prefix {
	t.Helper()
	prototest.Valid(t, c)
	var options upstreamhttpv3.HttpProtocolOptions
	for _, packed := range c.GetTypedExtensionProtocolOptions() {
		if err := packed.UnmarshalTo(&options); err != nil {
			t.Fatal(err)
		}
	}
	filters := options.GetHttpFilters()
	if len(filters) == 0 {
		return nil
	}
	if last := filters[len(filters)-1].GetName(); last != "envoy.filters.http.upstream_codec" {
		t.Errorf("the chain ends with %s, which Envoy refuses", last)
	}
	var rbac rbacv3.RBAC
	if err := filters[0].GetTypedConfig().UnmarshalTo(&rbac); err != nil {
		t.Fatal(err)
	}
	if filters[0].GetName() != "envoy.filters.http.upstream_rbac" || rbac.GetRules().GetAction() != rbacconfigv3.RBAC_DENY {
		t.Errorf("filter: %v", filters[0])
	}
	var denied []netip.Prefix
	for _, policy := range rbac.GetRules().GetPolicies() {
		for _, permission := range policy.GetPermissions() {
			var matcher upstreamipv3.UpstreamIpPortMatcher
			if err := permission.GetMatcher().GetTypedConfig().UnmarshalTo(&matcher); err != nil {
				t.Fatal(err)
			}
			denied = append(
				denied,
				netip.PrefixFrom(
					netip.MustParseAddr(matcher.GetUpstreamIp().GetAddressPrefix()),
					int(matcher.GetUpstreamIp().GetPrefixLen().GetValue()),
				),
			)
		}
	}
	return denied
}

func TestDeniedAddresses(t *testing.T) {
	t.Parallel()
	pods := netip.MustParsePrefix("10.244.0.0/16")
	denied := func(t *testing.T, address string) bool {
		t.Helper()
		for _, protocol := range []ir.BackendProtocol{ir.BackendHTTP1, ir.BackendHTTP2, ir.BackendWSS} {
			backend := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "api"}, Kind: ir.KindXBackend, Port: 443, Protocol: protocol}
			found := false
			for _, r := range deniedBy(t, cluster.Cluster(backend, cluster.Options{
				Hostname:        "api.example.com",
				DeniedAddresses: []netip.Prefix{pods},
			})) {
				found = found || r.Contains(netip.MustParseAddr(address))
			}
			if !found {
				return false
			}
		}
		return true
	}
	for _, c := range []struct {
		name      string
		addresses []string
		denied    bool
	}{
		{"the proxy itself", []string{"127.0.0.1", "127.8.9.1", "0.0.0.0", "::1", "::", "64:ff9b::127.0.0.1"}, true},
		{"metadata of clouds", []string{
			"169.254.169.254", "169.254.170.2", "fe80::1", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192",
			"64:ff9b::169.254.169.254",
		}, true},
		{"what the operator denies", []string{"10.244.3.4"}, true},
		{"private networks are also outside", []string{"10.0.0.1", "192.168.1.1", "172.16.0.1", "fd12:3456::1"}, false},
		{"the internet", []string{"203.0.113.7", "2001:db8::1", "64:ff9b::203.0.113.7"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, address := range c.addresses {
				if got := denied(t, address); got != c.denied {
					t.Errorf("%s is denied: %t", address, got)
				}
			}
		})
	}
	t.Run("IPv4 written as IPv6 is IPv4", func(t *testing.T) {
		t.Parallel()
		// Contains takes no mapped address for a part of any range, so the range itself is looked for.
		found := false
		for _, r := range deniedBy(t, cluster.Cluster(ir.Backend{Protocol: ir.BackendHTTP1}, cluster.Options{Hostname: "api.example.com"})) {
			found = found || r == netip.MustParsePrefix("::ffff:0:0/96")
		}
		if !found {
			t.Error("::ffff:127.0.0.1 is not denied")
		}
	})
	t.Run("backends inside the cluster have no such filter", func(t *testing.T) {
		t.Parallel()
		if got := deniedBy(t, cluster.Cluster(ir.Backend{Protocol: ir.BackendHTTP1}, cluster.Options{})); got != nil {
			t.Errorf("denied: %v", got)
		}
	})
	t.Run("a passed-on connection has no filters", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(ir.Backend{Protocol: ir.BackendTCP}, cluster.Options{Hostname: "api.example.com"})
		if len(c.GetTypedExtensionProtocolOptions()) != 0 {
			t.Errorf("options: %v", c)
		}
	})
}
