package geoip

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// Record is what a database has of the addresses of a network: texts, numbers, booleans, lists and further records.
type Record map[string]any

// Write makes a database of IPv6 addresses, with IPv4 addresses as its first. Of several networks with an address the smallest counts.
func Write(networks map[netip.Prefix]Record) ([]byte, error) {
	tree, data := [][2]child{{}}, []byte(nil)
	ordered := slices.SortedFunc(maps.Keys(networks), func(a, b netip.Prefix) int {
		return cmpPrefix(in6(a), in6(b))
	})
	for _, network := range ordered {
		offset := len(data)
		var err error
		if data, err = appendValue(data, networks[network]); err != nil {
			return nil, fmt.Errorf("%s: %w", network, err)
		}
		tree = insert(tree, in6(network), child{kind: leaf, value: offset})
	}
	var file []byte
	for _, node := range tree {
		for _, c := range node {
			file = binary.BigEndian.AppendUint32(file, c.record(len(tree)))
		}
	}
	file = append(append(file, make([]byte, separator)...), data...)
	return appendValue(append(file, marker...), Record{
		"binary_format_major_version": uint16(2), "binary_format_minor_version": uint16(0), "build_epoch": uint64(1),
		"database_type": "Gatewright", "description": Record{}, "ip_version": uint16(6), "languages": []any{},
		"node_count": uint32(len(tree)), "record_size": uint16(recordBits), //nolint:gosec // as many nodes as the networks have bits
	})
}

const (
	marker = "\xab\xcd\xefMaxMind.com"
	// separator is between the tree and the data, recordBits one record of a node.
	separator  = 16
	recordBits = 32
)

// child is where a bit of an address leads to from a node of the tree: to another node, to a record, or nowhere.
type child struct {
	kind  int
	value int
}

const (
	nowhere = iota
	inner
	leaf
)

func (c child) record(nodes int) uint32 {
	switch c.kind {
	case inner:
		return uint32(c.value) //nolint:gosec // a number of a node
	case leaf:
		return uint32(nodes + separator + c.value) //nolint:gosec // an offset in a small file
	default:
		return uint32(nodes) //nolint:gosec // the number of nodes
	}
}

// in6 is the network among IPv6 addresses.
func in6(p netip.Prefix) netip.Prefix {
	if !p.Addr().Is4() {
		return p.Masked()
	}
	four := p.Addr().As4()
	var all [16]byte
	copy(all[12:], four[:])
	return netip.PrefixFrom(netip.AddrFrom16(all), p.Bits()+96).Masked()
}

// cmpPrefix orders wider networks before the ones in them.
func cmpPrefix(a, b netip.Prefix) int {
	if a.Bits() != b.Bits() {
		return a.Bits() - b.Bits()
	}
	return a.Addr().Compare(b.Addr())
}

// insert adds a network that is no wider than those in the tree.
func insert(tree [][2]child, network netip.Prefix, to child) [][2]child {
	address := network.Addr().As16()
	bit := func(i int) byte { return address[i/8] >> (7 - i%8) & 1 }
	if network.Bits() == 0 {
		tree[0] = [2]child{to, to}
		return tree
	}
	node := 0
	for i := range network.Bits() - 1 {
		next := tree[node][bit(i)]
		if next.kind != inner {
			// What is known of the wider network stays known of both halves.
			tree = append(tree, [2]child{next, next})
			next = child{kind: inner, value: len(tree) - 1}
			tree[node][bit(i)] = next
		}
		node = next.value
	}
	tree[node][bit(network.Bits()-1)] = to
	return tree
}
