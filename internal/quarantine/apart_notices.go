package quarantine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// apartNotices reports what some proxies reject.
type apartNotices struct {
	*hostNotices
	// open are the routes that have a host which is not closed at the proxies that reject them, and closed those that have one which is.
	open, closed map[place]bool
}

// noticeApart reports what some proxies reject: all routes of a host that is closed there, and otherwise those at fault.
func (q *Quarantine) noticeApart(add func(Notice)) {
	n := apartNotices{q.newHostNotices(add), map[place]bool{}, map[place]bool{}}
	for host := range q.hosts {
		// It is closed for all, and reported.
		n.noteClosed(host)
	}
	for at, entry := range q.apart {
		switch {
		case q.hosts[at.Host] != nil:
		case entry.closed:
			n.reportClosed(at.Host, entry.cause, where(entry.Pods))
		case q.tables.InsteadVersion(at) == entry.closedVersion:
			// No substitute of its routes is left, or none can be translated.
			n.reportClosed(at.Host, hostCause{reason: entry.Reason, routes: entry.routes}, where(entry.Pods))
		default:
			for _, key := range entry.routes {
				n.open[place{key, at.Host.Table.Gateway}] = true
			}
			n.reportBeside(at, entry)
		}
	}
	q.eachHostApartElsewhere(func(host ir.HostID, o offerContent) { n.reportClosed(host, o.cause(), where(nil)) })
	n.flush()
	for p, entry := range q.routes {
		if entry.apart && (n.open[p] || !n.closed[p]) {
			q.noticeRoute(add, p, entry, where(entry.pods))
		}
	}
}

// reportClosed reports a host that is closed at some proxies: its routes, and what those at fault have settings from.
func (n apartNotices) reportClosed(host ir.HostID, cause hostCause, where string) {
	n.noteClosed(host)
	message := n.report(host, cause, where)
	for _, key := range cause.routes {
		p := place{key, host.Table.Gateway}
		entry := n.routes[p]
		if entry == nil {
			continue
		}
		for _, origin := range n.origins(p, entry) {
			n.add(Notice{Kind: store.Kind(origin.Kind), Key: origin.Name.String(), Gateway: p.gateway, Message: message})
		}
	}
}

// noteClosed notes the routes of a closed host that some proxies reject.
func (n apartNotices) noteClosed(host ir.HostID) {
	if n.counts[quota{host.Table.Gateway, true}] == 0 {
		return
	}
	for _, key := range n.tables.HostRoutes(host) {
		if p := (place{key, host.Table.Gateway}); n.routes[p] != nil && n.routes[p].apart {
			n.closed[p] = true
		}
	}
}

// reportBeside reports the routes of a host that answer errors at some proxies because these reject others: their requests begin as what is
// rejected, or they are of the namespace of a route of which every version is rejected.
func (n apartNotices) reportBeside(at GroupHost, entry *apartEntry) {
	gateway := at.Host.Table.Gateway
	for _, beside := range n.tables.Beside(at) {
		kind, own := store.SplitKindKey(beside.Route)
		because := []string{beside.Because}
		if beside.Because == "" {
			because = slices.DeleteFunc(slices.Clone(entry.routes), func(key string) bool { return namespaceOf(key) != namespaceOf(beside.Route) })
		}
		n.add(Notice{Kind: kind, Key: own, Gateway: gateway, Message: fmt.Sprintf(
			"a proxy of Gateway %s rejected (NACK) %s: %s; requests of this route for hostname %s, some of which may be meant for that one, are "+
				"answered 500 %s", gateway, objects(because, ", "), entry.Reason, at.Host.Domain, where(entry.Pods))})
	}
}

// namespaceOf is that of a route.
func namespaceOf(key string) string {
	_, own := store.SplitKindKey(key)
	namespace, _ := store.SplitKey(own)
	return namespace
}

// eachHostApartElsewhere visits the hosts that are closed at proxies which only other replicas know.
func (q *Quarantine) eachHostApartElsewhere(visit func(ir.HostID, offerContent)) {
	found := map[ir.HostID]OfferID{}
	for id, o := range q.offers {
		text, isHost := strings.CutPrefix(id.Key, hostPrefix)
		if !isHost || !o.content.Apart {
			continue
		}
		host := ir.ParseHostID(text)
		if other, several := found[host]; several && other.Replica < id.Replica {
			continue
		}
		if q.hosts[host] == nil && q.tables.HostVersion(host) == o.rejected && !q.corrected(host.Table.Gateway, o.content.Causes) {
			found[host] = id
		}
	}
	for at, entry := range q.apart {
		if entry.closed {
			delete(found, at.Host)
		}
	}
	for host, id := range found {
		visit(host, q.offers[id].content)
	}
}

// where names proxies that reject what others serve.
func where(pods map[string]struct{}) string {
	names := "some proxies"
	if sorted := slices.Sorted(maps.Keys(pods)); len(sorted) > 0 {
		names = "proxy " + strings.Join(sorted[:min(len(sorted), maxPods)], ", ")
	}
	return "at " + names + ", and proxies that accept this version serve it; replace those that are outdated"
}

// maxPods is the number of proxies that a message names.
const maxPods = 3
