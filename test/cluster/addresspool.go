package main

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// addressPool hands out the addresses of a range, each to one owner.
type addressPool struct {
	prefix netip.Prefix
	// onRequest is a part of the range of which an address is given only to an owner that wants that one.
	onRequest netip.Prefix
	owners    map[netip.Addr]string
	owned     map[string]netip.Addr
	next      netip.Addr // where the search starts, so that a freed address rests for a while
}

func newAddressPool(prefix netip.Prefix) *addressPool {
	return &addressPool{
		prefix: prefix,
		owners: map[netip.Addr]string{},
		owned:  map[string]netip.Addr{},
		next:   prefix.Masked().Addr().Next(),
	}
}

// adopt records an address that was assigned before this pool existed.
func (p *addressPool) adopt(owner string, address netip.Addr) {
	if p.prefix.Contains(address) && p.owners[address] == "" {
		p.take(owner, address)
	}
}

// allocate returns the owner's address: the one it wants if that is in range, the one it has, or a free one.
func (p *addressPool) allocate(owner, wanted string) (netip.Addr, error) {
	if want, err := netip.ParseAddr(wanted); err == nil && p.prefix.Contains(want) {
		if holder := p.owners[want]; holder != "" && holder != owner {
			return netip.Addr{}, fmt.Errorf("address %s belongs to %s", want, holder)
		}
		p.release(owner)
		p.take(owner, want)
		return want, nil
	}
	if have, found := p.owned[owner]; found {
		return have, nil
	}
	first := p.prefix.Masked().Addr().Next()
	for address, wrapped := p.next, false; ; address = address.Next() {
		if !p.prefix.Contains(address.Next()) { // the last one is for broadcasts
			if wrapped {
				return netip.Addr{}, fmt.Errorf("no address is free in %s", p.prefix)
			}
			address, wrapped = first, true
		}
		if p.owners[address] == "" && !p.onRequest.Contains(address) {
			p.take(owner, address)
			p.next = address.Next()
			return address, nil
		}
	}
}

func (p *addressPool) take(owner string, address netip.Addr) {
	p.owners[address] = owner
	p.owned[owner] = address
}

func (p *addressPool) release(owner string) {
	delete(p.owners, p.owned[owner])
	delete(p.owned, owner)
}

// addressPools has one for each family.
type addressPools map[corev1.IPFamily]*addressPool

func newAddressPools() addressPools {
	four, six := newAddressPool(netip.MustParsePrefix(loadBalancers)), newAddressPool(netip.MustParsePrefix(loadBalancers6))
	four.onRequest, six.onRequest = netip.MustParsePrefix(loadBalancersOnRequest), netip.MustParsePrefix(loadBalancersOnRequest6)
	return addressPools{corev1.IPv4Protocol: four, corev1.IPv6Protocol: six}
}

func (p addressPools) adopt(owner string, addresses []netip.Addr) {
	for _, pool := range p {
		for _, address := range addresses {
			pool.adopt(owner, address)
		}
	}
}

// allocate returns an address of each family, in their order, and takes back those of other families.
func (p addressPools) allocate(owner, wanted string, families []corev1.IPFamily) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, family := range families {
		address, err := p[family].allocate(owner, wanted)
		if err != nil {
			return nil, err
		}
		all = append(all, address)
	}
	for family, pool := range p {
		if !slices.Contains(families, family) {
			pool.release(owner)
		}
	}
	return all, nil
}

func (p addressPools) release(owner string) {
	for _, pool := range p {
		pool.release(owner)
	}
}
