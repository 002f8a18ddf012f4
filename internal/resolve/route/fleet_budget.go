package route

import (
	"crypto/sha256"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// Fleets are those of the Gateways that the route attaches to, sorted; see [Attachment.Fleet].
func (r Resolved) Fleets() []string {
	var fleets []string
	for i := range r.Attachments {
		fleets = append(fleets, r.Attachments[i].Fleet())
	}
	return unique(fleets)
}

// countedLength is the length of a name that counts once. A longer one counts once more for each such length.
const countedLength = 128

// countedEnd is between the namespace and the name of what is counted; no namespace has it.
const countedEnd = "|"

// counted appends what is counted of a name: names of two namespaces count by themselves. Names are long, so only digests are kept.
func counted(list []string, namespace, name string) []string {
	digest := sha256.Sum256([]byte(name))
	for n := 0; n == 0 || n*countedLength < len(name); n++ {
		list = append(list, namespace+countedEnd+string(append(digest[:16:16], byte(n))))
	}
	return list
}

// CountedHostnames are the hostnames that the route has at each fleet, as they are counted.
func (r Resolved) CountedHostnames() map[string][]string {
	names := map[string][]string{}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		if a.Table.IsZero() {
			continue
		}
		for _, h := range a.Hosts {
			names[a.Fleet()] = counted(names[a.Fleet()], r.Name.Namespace, a.Table.Host(h.Domain).String())
		}
	}
	return uniqueEach(names)
}

// CountedBackends are the backends that the route needs at each fleet, as they are counted.
func (r Resolved) CountedBackends() map[string][]string {
	if len(r.Backends) == 0 {
		return nil
	}
	needed := map[string]map[ir.Backend]bool{}
	for _, a := range r.Attachments {
		for _, b := range r.backendsAt(a) {
			if needed[a.Fleet()] == nil {
				needed[a.Fleet()] = map[ir.Backend]bool{}
			}
			needed[a.Fleet()][b] = true
		}
	}
	names := make(map[string][]string, len(needed))
	for fleet, backends := range needed {
		for b := range backends {
			names[fleet] = counted(names[fleet], r.Name.Namespace, b.String())
		}
	}
	return uniqueEach(names)
}

func uniqueEach(lists map[string][]string) map[string][]string {
	for key, list := range lists {
		lists[key] = unique(list)
	}
	return lists
}

// FleetBudget is what the routes of all namespaces may take of the proxies of one Gateway together, or of those that Gateways share.
type FleetBudget struct {
	Routes *store.Table[Resolved]
	// ByFleet has the routes by [Resolved.Fleets], and Bytes is the sum of [Resolved.ChargedBytes].
	ByFleet *store.Index[Resolved]
	Bytes   *store.Sums[Resolved]
	// Hostnames and Backends count [Resolved.CountedHostnames] and [Resolved.CountedBackends].
	Hostnames, Backends *store.Distinct[Resolved]
	Limits              *limits.Limits
}

// Shortage divides a fleet among the namespaces with routes there. As long as there is room for all, it reads totals only.
func (b FleetBudget) Shortage(v *store.View, fleet string) Shortage {
	return shortage(func() []Resolved { return byAge(v, b.Routes, b.ByFleet.Keys(v, fleet)) }, []measure{
		{
			name: limits.NameGatewayBytes, what: "bytes", total: b.Bytes.Get(v, fleet), limit: b.Limits.GatewayBytes,
			weigh:  func(r Resolved) int { return r.chargedTo(b.Limits, fleet) },
			closed: func(r Resolved) int { return r.errorBytes(b.Limits, fleet) },
		},
		{
			name: limits.NameGatewayHostnames, what: "hostnames", total: b.Hostnames.Len(v, fleet), limit: b.Limits.GatewayHostnames,
			names: func(r Resolved) []string { return r.CountedHostnames()[fleet] }, kept: true,
		},
		{
			name: limits.NameGatewayBackends, what: "backends", total: b.Backends.Len(v, fleet), limit: b.Limits.GatewayBackends,
			names: func(r Resolved) []string { return r.CountedBackends()[fleet] },
		},
	})
}
