package wire

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// CIDRs are ranges of addresses. What is not a range is left out; resolvers have checked them.
func CIDRs(cidrs []string) []*corev3.CidrRange {
	ranges := make([]*corev3.CidrRange, 0, len(cidrs))
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			continue
		}
		ranges = append(ranges, &corev3.CidrRange{
			AddressPrefix: prefix.Addr().String(), PrefixLen: wrapperspb.UInt32(uint32(prefix.Bits())), //nolint:gosec // at most 128
		})
	}
	return ranges
}
