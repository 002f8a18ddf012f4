package quarantine

import (
	"fmt"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// hostNotices reports hosts that answer 500 to all requests: their routes, the policies on the listener if these are the cause, and the
// listener if its filters are, or if there is nothing else.
type hostNotices struct {
	*Quarantine
	add func(Notice)
	// shared are the hosts that objects above the routes report. There may be thousands, so these name one and say how many there are.
	shared map[sharedHosts]*hostSummary
}

// sharedHosts are hosts of a listener that are closed for the same cause at the same proxies.
type sharedHosts struct {
	listener ir.ListenerID
	// policies reports that the cause is in what their rules share, and alone that they have no routes.
	policies, alone bool
	where           string
}

// hostSummary is how many hosts there are, and the first by name.
type hostSummary struct {
	count  int
	first  ir.HostID
	reason string
}

func (q *Quarantine) newHostNotices(add func(Notice)) *hostNotices {
	return &hostNotices{Quarantine: q, add: add, shared: map[sharedHosts]*hostSummary{}}
}

// report reports a host by these routes, or by all that it has if there are none. Where says at which proxies it is closed.
func (n *hostNotices) report(host ir.HostID, reason string, policies bool, routes []string, where string) {
	if len(routes) == 0 {
		routes = n.tables.HostRoutes(host)
	}
	listeners, _ := n.tables.Listeners.Get(nil, host.Table)
	owner, _ := route.OwnerOf(listeners, host.Domain)
	at := sharedHosts{ir.ListenerID{Gateway: host.Table.Gateway, Listener: owner.ID}, policies, len(routes) == 0, where}
	summary := hostSummary{count: 1, first: host, reason: reason}
	for _, key := range routes {
		kind, own := store.SplitKindKey(key)
		n.add(Notice{Kind: kind, Key: own, Gateway: host.Table.Gateway, Message: at.message(summary)})
	}
	if !at.policies && !at.alone {
		return
	}
	known := n.shared[at]
	if known == nil {
		n.shared[at] = &summary
		return
	}
	if known.count++; host.String() < known.first.String() {
		known.first, known.reason = host, reason
	}
}

// flush reports what objects above the routes share.
func (n *hostNotices) flush() {
	for at, hosts := range n.shared {
		name, message := at.listener.Gateway, at.message(*hosts)
		var origins []ir.ObjectRef
		if at.policies {
			origins = n.tables.PolicyOrigins(at.listener)
		}
		for _, origin := range origins {
			n.add(Notice{Kind: store.Kind(origin.Kind), Key: origin.Name.String(), Gateway: name, Message: message})
		}
		filters := at.policies && len(n.tables.filtersOf(at.listener)) > 0
		if !filters && (!at.alone || len(origins) > 0) {
			continue
		}
		resolved, _ := n.tables.Gateways.Get(nil, name)
		for object, names := range resolved.Owners(func(l gateway.Listener) bool { return l.ID == at.listener.Listener }) {
			n.add(Notice{Kind: object.Kind, Key: object.Key, Gateway: name, Listeners: names, Message: message})
		}
	}
}

// message names the first of some hosts.
func (at sharedHosts) message(hosts hostSummary) string {
	others := ""
	if hosts.count > 1 {
		others = fmt.Sprintf(" and %d more", hosts.count-1)
	}
	return fmt.Sprintf("a proxy of Gateway %s rejected (NACK) host %s%s of listener %s: %s; all requests there are answered 500 %s",
		at.listener.Gateway, hosts.first.Domain, others, at.listener.Listener, hosts.reason, at.where)
}

// untilChanged is where a host is closed that no proxy serves.
const untilChanged = "until it changes; correct its routes, or the policies on them and on the listener"

// noticeHosts reports the hosts that are closed.
func (q *Quarantine) noticeHosts(add func(Notice)) {
	notices := q.newHostNotices(add)
	for host, entry := range q.hosts {
		notices.report(host, entry.reason, entry.policies, nil, untilChanged)
	}
	notices.flush()
}
