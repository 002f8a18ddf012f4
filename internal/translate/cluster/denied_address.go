package cluster

import (
	"net/netip"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	upstreamcodecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/matchers/upstream_ip_port/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// insideAddresses are never outside: the proxy itself, its link, many receivers, and where clouds hand out the credentials of a node.
// Private networks are not among them, for a company's servers have such addresses too; an operator adds those of the cluster.
// IPv6 has other ways to write an IPv4 address: ::a.b.c.d and ::ffff:a.b.c.d are denied altogether, and behind NAT64 what is denied
// without.
var insideAddresses = prefixes(
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
	"100.100.100.200/32", // Alibaba
	"168.63.129.16/32",   // Azure
	"192.0.0.192/32",     // Oracle
	"::/96", "::ffff:0:0/96", "fe80::/10", "ff00::/8",
	"64:ff9b::7f00:0/104", "64:ff9b::a9fe:0/112", // 127/8 and 169.254/16 behind NAT64
	"64:ff9b::6464:64c8/128", "64:ff9b::a83f:8110/128", "64:ff9b::c000:c0/128", // Alibaba, Azure and Oracle behind NAT64
	"fd00:ec2::/32", // Amazon
	"fd20:ce::/32",  // Google
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// denyAddresses answers 403 to a request for which a resolved address was chosen that is not outside, before there is a connection to it.
// Only the proxy can do that: a name may lead to another address each time it is asked for. Envoy has it for requests of clients; neither
// connections that are passed on as they are nor requests of its own, as copies and those for authorization, pass these filters.
func denyAddresses(c *clusterv3.Cluster, protocol ir.BackendProtocol, denied []netip.Prefix) {
	if _, http := alpn[protocol]; !http {
		return
	}
	options := httpOptions(protocol)
	options.HttpFilters = []*hcmv3.HttpFilter{
		{
			Name: "envoy.filters.http.upstream_rbac",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{
				Action:   rbacconfigv3.RBAC_DENY,
				Policies: map[string]*rbacconfigv3.Policy{"address-inside": atAddresses(slices.Concat(insideAddresses, denied))},
			}})},
		},
		{
			Name:       "envoy.filters.http.upstream_codec",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&upstreamcodecv3.UpstreamCodec{})},
		},
	}
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptionsName: wire.Any(options)}
}

// atAddresses is the policy that is about one of the ranges.
func atAddresses(ranges []netip.Prefix) *rbacconfigv3.Policy {
	policy := &rbacconfigv3.Policy{Principals: []*rbacconfigv3.Principal{{Identifier: &rbacconfigv3.Principal_Any{Any: true}}}}
	for _, r := range ranges {
		policy.Permissions = append(policy.Permissions, &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_Matcher{Matcher: &corev3.TypedExtensionConfig{
			Name: "envoy.rbac.matchers.upstream_ip_port",
			TypedConfig: wire.Any(&upstreamipv3.UpstreamIpPortMatcher{UpstreamIp: &corev3.CidrRange{
				AddressPrefix: r.Addr().String(),
				PrefixLen:     wrapperspb.UInt32(uint32(r.Bits())), //nolint:gosec // at most 128
			}}),
		}}})
	}
	return policy
}
