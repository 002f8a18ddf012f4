package cluster

import (
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	upstreamcodecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/matchers/upstream_ip_port/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// denyAddresses answers 403 to a request for which a resolved address was chosen that is not outside, before there is a connection to it.
// Only the proxy can do that: a name may lead to another address each time it is asked for. Envoy has it for requests of clients; neither
// connections that are passed on as they are nor requests of its own, as copies and those for authorization, pass these filters.
func denyAddresses(options *upstreamhttpv3.HttpProtocolOptions, denied []netip.Prefix) {
	options.HttpFilters = []*hcmv3.HttpFilter{
		{
			Name: "envoy.filters.http.upstream_rbac",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{
				Action:   rbacconfigv3.RBAC_DENY,
				Policies: map[string]*rbacconfigv3.Policy{"address-inside": atAddresses(slices.Concat(ir.InsideAddresses, denied))},
			}})},
		},
		{
			Name:       wire.UpstreamCodecFilter,
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&upstreamcodecv3.UpstreamCodec{})},
		},
	}
}

// atAddresses is the policy that is about one of the ranges.
func atAddresses(ranges []netip.Prefix) *rbacconfigv3.Policy {
	policy := &rbacconfigv3.Policy{Principals: []*rbacconfigv3.Principal{{Identifier: &rbacconfigv3.Principal_Any{Any: true}}}}
	for _, r := range ranges {
		policy.Permissions = append(
			policy.Permissions,
			&rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_Matcher{Matcher: &corev3.TypedExtensionConfig{
				Name: "envoy.rbac.matchers.upstream_ip_port",
				TypedConfig: wire.Any(&upstreamipv3.UpstreamIpPortMatcher{UpstreamIp: &corev3.CidrRange{
					AddressPrefix: r.Addr().String(),
					PrefixLen:     wrapperspb.UInt32(uint32(r.Bits())), //nolint:gosec // at most 128
				}}),
			}}},
		)
	}
	return policy
}
