package xds

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
)

// Only this file and scope.go know how virtual hosts travel: inside their RouteConfiguration, or as scopes, whichever a listener
// requests. The rest of the package, and its callers, change virtual hosts one at a time.

// virtualHostsField is the number of the field `virtual_hosts` of RouteConfiguration.
const virtualHostsField protowire.Number = 2

// routeTable is a RouteConfiguration in parts: a header and virtual hosts. Changing one virtual host among n costs O(log n), and
// nothing is assembled before a proxy needs it.
type routeTable struct {
	name   string
	header *Resource
	hosts  *partTree
	// wild are the hosts with a wildcard, and wildSum is the sum of their digests.
	wild    *partTree
	wildSum digest
	// hostBytes and wildBytes are the sizes of all hosts, and of those with a wildcard, in a RouteConfiguration.
	hostBytes, wildBytes int
	// sum is the sum of the digests of all parts. It changes in O(1), and does not depend on their order.
	sum digest
	// current is the table as proxies see it, nil if it has no header.
	current *composedTable
}

func (t *routeTable) empty() bool { return t.header == nil && t.hosts == nil }

// setHeader reports whether the table has changed; publish makes that visible. A table without a header does not exist for proxies,
// even if it has virtual hosts.
func (t *routeTable) setHeader(header *Resource) bool {
	before := t.header
	if sameVersion(before, header) {
		return false
	}
	t.header = header
	t.sum = t.sum.replace("", before, header)
	return true
}

// setHost reports whether the table has changed. A nil host is removed.
func (t *routeTable) setHost(name string, host *Resource) bool {
	before := t.hosts.get(name)
	if sameVersion(before, host) {
		return false
	}
	t.hosts = t.hosts.put(name, host)
	more := roomOf(host) - roomOf(before)
	t.hostBytes += more
	if !exact(name) {
		t.wild = t.wild.put(name, host)
		t.wildSum = t.wildSum.replace(name, before, host)
		t.wildBytes += more
	}
	t.sum = t.sum.replace("/"+name, before, host)
	return true
}

// publish makes the present table visible to proxies, in O(1).
func (t *routeTable) publish() {
	t.current = nil
	if t.header != nil {
		t.current = &composedTable{name: t.name, version: t.sum.String(), tableParts: tableParts{header: t.header, hosts: t.hosts}}
		t.current.bytes = len(t.header.value) + t.hostBytes
	}
}

// roomOf returns the size of a host in a RouteConfiguration.
func roomOf(host *Resource) int {
	if host == nil {
		return 0
	}
	return protowire.SizeTag(virtualHostsField) + protowire.SizeBytes(len(host.value))
}

// tableParts are the parts of one version of a table.
type tableParts struct {
	header *Resource
	hosts  *partTree
}

// composedTable is one version of a table. Its bytes are assembled once, by the first stream that sends it.
type composedTable struct {
	tableParts
	name, version string
	bytes         int
	once          sync.Once
	envelope      *discoveryv3.Resource
}

func (c *composedTable) Version() string { return c.version }

func (c *composedTable) label() string { return c.name }

func (c *composedTable) size() int { return envelope + len(c.name) + c.bytes }

func (c *composedTable) wire() *discoveryv3.Resource {
	c.once.Do(func() {
		c.envelope = &discoveryv3.Resource{
			Name:     c.name,
			Version:  c.version,
			Resource: &anypb.Any{TypeUrl: typeURLs[RouteTable], Value: c.assemble()},
		}
	})
	return c.envelope
}

// assemble concatenates the header's fields and one `virtual_hosts` field for each host in the order of their names. The wire format
// allows fields in any order.
func (c tableParts) assemble() []byte {
	size := len(c.header.value)
	c.hosts.each(func(host *Resource) {
		size += roomOf(host)
	})
	out := append(make([]byte, 0, size), c.header.value...)
	c.hosts.each(func(host *Resource) {
		out = protowire.AppendTag(out, virtualHostsField, protowire.BytesType)
		out = protowire.AppendBytes(out, host.value)
	})
	return out
}

// digest is a number of 128 bits that is added and subtracted modulo 2^128.
type digest struct{ high, low uint64 }

func digestOf(part, version string) digest {
	sum := sha256.Sum256([]byte(part + "\x00" + version))
	return digest{high: binary.BigEndian.Uint64(sum[:8]), low: binary.BigEndian.Uint64(sum[8:16])}
}

func (d digest) plus(e digest) digest {
	low, carry := bits.Add64(d.low, e.low, 0)
	high, _ := bits.Add64(d.high, e.high, carry)
	return digest{high: high, low: low}
}

func (d digest) minus(e digest) digest {
	low, borrow := bits.Sub64(d.low, e.low, 0)
	high, _ := bits.Sub64(d.high, e.high, borrow)
	return digest{high: high, low: low}
}

// replace returns the sum with another version of a part.
func (d digest) replace(part string, before, after *Resource) digest {
	if before != nil {
		d = d.minus(digestOf(part, before.version))
	}
	if after != nil {
		d = d.plus(digestOf(part, after.version))
	}
	return d
}

func (d digest) String() string {
	var b [versionBytes]byte
	binary.BigEndian.PutUint64(b[:8], d.high)
	binary.BigEndian.PutUint64(b[8:], d.low)
	return hex.EncodeToString(b[:])
}

func priorityOf(name string) uint64 { return digestOf(name, "").low }

func sameVersion(a, b *Resource) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.version == b.version
}
