package quarantine

import (
	"fmt"
	"slices"
	"strings"

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
	// above are the names of the objects that the rules of a listener share settings of.
	above map[ir.ListenerID]string
}

// sharedHosts are hosts of a listener that are closed for the same cause at the same proxies.
type sharedHosts struct {
	listener ir.ListenerID
	// policies reports that the cause is in what their rules share, and alone that they have no routes.
	policies, alone bool
	// fault names the objects at fault.
	fault, where string
}

// hostSummary is how many hosts there are, and the first by name.
type hostSummary struct {
	count  int
	first  ir.HostID
	reason string
}

func (q *Quarantine) newHostNotices(add func(Notice)) *hostNotices {
	return &hostNotices{Quarantine: q, add: add, shared: map[sharedHosts]*hostSummary{}, above: map[ir.ListenerID]string{}}
}

// report reports a host by all its routes, and returns what they say. Where says at which proxies it is closed.
func (n *hostNotices) report(host ir.HostID, cause hostCause, where string) string {
	routes := n.tables.HostRoutes(host)
	listeners, _ := n.tables.Listeners.Get(nil, host.Table)
	owner, _ := route.OwnerOf(listeners, host.Domain)
	listener := ir.ListenerID{Gateway: host.Table.Gateway, Listener: owner.ID}
	at := sharedHosts{
		listener: listener, policies: cause.policies, alone: len(routes) == 0, fault: n.fault(listener, cause), where: where,
	}
	summary := hostSummary{count: 1, first: host, reason: cause.reason}
	message := at.message(summary)
	for _, key := range routes {
		kind, own := store.SplitKindKey(key)
		n.add(Notice{Kind: kind, Key: own, Gateway: host.Table.Gateway, Message: message})
	}
	if !at.policies && !at.alone {
		return message
	}
	known := n.shared[at]
	if known == nil {
		n.shared[at] = &summary
		return message
	}
	if known.count++; host.String() < known.first.String() {
		known.first, known.reason = host, cause.reason
	}
	return message
}

// fault names the objects because of which a host is closed, empty if they are not known. Of those that all rules share, it is one.
func (n *hostNotices) fault(listener ir.ListenerID, cause hostCause) string {
	if !cause.policies {
		return objects(cause.routes, ", ")
	}
	text, known := n.above[listener]
	if !known {
		var all []string
		for _, origin := range n.tables.PolicyOrigins(listener) {
			all = append(all, origin.String())
		}
		if len(n.tables.filtersOf(listener)) > 0 {
			for owner := range n.owners(listener) {
				all = append(all, string(owner.Kind)+"/"+owner.Key)
			}
		}
		slices.Sort(all)
		text = objects(slices.Compact(all), " or ")
		n.above[listener] = text
	}
	return text
}

// owners returns the object that has a listener, with the name of the listener there.
func (n *hostNotices) owners(listener ir.ListenerID) map[gateway.ListenerOwner][]string {
	resolved, _ := n.tables.Gateways.Get(nil, listener.Gateway)
	return resolved.Owners(func(l gateway.Listener) bool { return l.ID == listener.Listener })
}

// maxObjects is the number of objects that a message names.
const maxObjects = 3

// objects names objects, each `<kind>/<namespace>/<name>`.
func objects(keys []string, separator string) string {
	var names []string
	for _, key := range keys[:min(len(keys), maxObjects)] {
		kind, own := store.SplitKindKey(key)
		names = append(names, string(kind)+" "+own)
	}
	text := strings.Join(names, separator)
	if more := len(keys) - maxObjects; more > 0 {
		text += fmt.Sprintf("%s%d more", separator, more)
	}
	return text
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
		for object, names := range n.owners(at.listener) {
			n.add(Notice{Kind: object.Kind, Key: object.Key, Gateway: name, Listeners: names, Message: message})
		}
	}
}

// message names the first of some hosts.
func (at sharedHosts) message(hosts hostSummary) string {
	others, because := "", ""
	if hosts.count > 1 {
		others = fmt.Sprintf(" and %d more", hosts.count-1)
	}
	if at.fault != "" {
		because = " because of " + at.fault
	}
	return fmt.Sprintf("a proxy of Gateway %s rejected (NACK) host %s%s of listener %s%s: %s; all requests there are answered 500 %s",
		at.listener.Gateway, hosts.first.Domain, others, at.listener.Listener, because, hosts.reason, at.where)
}

// untilChanged is where a host is closed that no proxy serves.
const untilChanged = "until it changes; correct its routes, or the policies on them and on the listener"

// noticeHosts reports the hosts that are closed.
func (q *Quarantine) noticeHosts(add func(Notice)) {
	notices := q.newHostNotices(add)
	for host, entry := range q.hosts {
		notices.report(host, entry.cause, untilChanged)
	}
	notices.flush()
}
