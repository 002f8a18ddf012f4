package filter

import (
	"fmt"
	"net/netip"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// hits is how much a request counts, nil for 1.
func hits(cost *ir.RateCost) *routev3.RateLimit_HitsAddend {
	switch {
	case cost == nil:
		return nil
	case cost.Format != "":
		return &routev3.RateLimit_HitsAddend{Format: cost.Format}
	default:
		return &routev3.RateLimit_HitsAddend{Number: wrapperspb.UInt64(cost.Number)}
	}
}

func headersOf(wanted bool) routev3.RateLimit_XRateLimitOption {
	if wanted {
		return routev3.RateLimit_DRAFT_VERSION_03
	}
	return routev3.RateLimit_OFF
}

// conditions make a descriptor of a request if all of them are met. Their keys begin with prefix.
func conditions(prefix string, matches []ir.RateMatch) []described {
	var all []described
	for i, m := range matches {
		all = append(all, describe(fmt.Sprintf("%smatch-%d", prefix, i), m)...)
	}
	return all
}

func actionsOf(list []described) []*routev3.RateLimit_Action {
	actions := make([]*routev3.RateLimit_Action, 0, len(list))
	for _, d := range list {
		actions = append(actions, d.action)
	}
	return actions
}

// described is an action and the entry that it makes. An entry without a value is for each value.
type described struct {
	action     *routev3.RateLimit_Action
	key, value string
}

func describe(key string, m ir.RateMatch) []described {
	one := func(a *routev3.RateLimit_Action) []described { return []described{{a, key, key}} }
	switch {
	case m.CIDR != "":
		list := one(&routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RemoteAddressMatch_{
			RemoteAddressMatch: &routev3.RateLimit_Action_RemoteAddressMatch{
				DescriptorKey: key, DescriptorValue: key, AddressMatcher: addresses(m.CIDR, m.Invert && !m.Distinct),
			},
		}})
		if m.Distinct {
			list = append(list, described{&routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RemoteAddress_{
				RemoteAddress: &routev3.RateLimit_Action_RemoteAddress{},
			}}, "remote_address", ""})
		}
		return list
	case m.Distinct && m.Header != "":
		return []described{{&routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RequestHeaders_{
			RequestHeaders: &routev3.RateLimit_Action_RequestHeaders{HeaderName: m.Header, DescriptorKey: key},
		}}, key, ""}}
	case m.Distinct:
		return []described{{&routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_QueryParameters_{
			QueryParameters: &routev3.RateLimit_Action_QueryParameters{QueryParameterName: m.Query, DescriptorKey: key},
		}}, key, ""}}
	case m.Header != "":
		return one(&routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_HeaderValueMatch_{
			HeaderValueMatch: &routev3.RateLimit_Action_HeaderValueMatch{
				DescriptorKey: key, DescriptorValue: key, ExpectMatch: wrapperspb.Bool(!m.Invert),
				Headers: []*routev3.HeaderMatcher{{
					Name: m.Header, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: StringMatch(m.Match)},
				}},
			},
		}})
	default:
		return one(&routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_QueryParameterValueMatch_{
			QueryParameterValueMatch: &routev3.RateLimit_Action_QueryParameterValueMatch{
				DescriptorKey: key, DescriptorValue: key, ExpectMatch: wrapperspb.Bool(!m.Invert),
				QueryParameters: []*routev3.QueryParameterMatcher{{
					Name: m.Query, QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: StringMatch(m.Match)},
				}},
			},
		}})
	}
}

func addresses(cidr string, invert bool) *matcherv3.AddressMatcher {
	matcher := &matcherv3.AddressMatcher{InvertMatch: invert}
	if prefix, err := netip.ParsePrefix(cidr); err == nil {
		matcher.Ranges = []*xdscorev3.CidrRange{{
			AddressPrefix: prefix.Addr().String(), PrefixLen: wrapperspb.UInt32(uint32(prefix.Bits())), //nolint:gosec // at most 128
		}}
	}
	return matcher
}
