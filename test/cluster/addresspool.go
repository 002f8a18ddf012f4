package main

import (
	"fmt"
	"net/netip"
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
