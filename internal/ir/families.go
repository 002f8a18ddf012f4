package ir

import (
	"net/netip"
	"slices"
)

// Family is an IP family, as Kubernetes spells it.
type Family string

// The families that there are.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// Families are the IP families of a cluster's pods, the preferred one first. None means IPv4.
type Families []Family

// FamilyOf is the family of an address. An IPv4 address that is written as an IPv6 address is IPv4.
func FamilyOf(address netip.Addr) Family {
	if address.Unmap().Is4() {
		return IPv4
	}
	return IPv6
}

// First is the preferred family.
func (f Families) First() Family {
	if len(f) == 0 {
		return IPv4
	}
	return f[0]
}

// Dual says whether there are both.
func (f Families) Dual() bool { return slices.Contains(f, IPv4) && slices.Contains(f, IPv6) }

// Any are the addresses that a proxy binds to be reached in each family, IPv4 first. There is one for each family and none that serves
// both: so clients of IPv4 are never seen by an IPv4-mapped address, and the statistics of a listener keep their name when IPv6 is added.
func (f Families) Any() []string {
	var addresses []string
	if len(f) == 0 || slices.Contains(f, IPv4) {
		addresses = append(addresses, "0.0.0.0")
	}
	if slices.Contains(f, IPv6) {
		addresses = append(addresses, "::")
	}
	return addresses
}
