package route

import (
	"cmp"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
)

// Resolved is what a route means.
type Resolved struct {
	// Kind, Name and Created take part in precedence: the older route wins, then the one whose name sorts first.
	Kind    string
	Name    ir.Name
	Created int64
	// Attachments are the listeners it attaches to, in a fixed order.
	Attachments []Attachment
	// Rules holds one entry for each match of each rule, in the order of the spec, and behind it one for its preflights if it needs that.
	Rules []Rule
	// Expressions is how many instructions its regular expressions compile to.
	Expressions int
	// Stream is where a route that forwards whole connections sends them. It has no Rules.
	Stream *ir.Stream
	// Backends are the names of the backends it uses, sorted.
	Backends []string
	Outcome  outcome.Route
	// Refused says that no rule can be served. The rules are there, and answer errors.
	Refused bool
	// Instead has what is served at Gateways whose proxies refuse the rules; see [Resolved.At].
	Instead map[string]Resolved
	// listeners has, for each parent of the outcome, the listeners that take the route, as [ListenerKey].
	listeners [][]string
	// uses are the backends by the rules that refer to them, and missing the Services that do not exist, as `namespace/name`, sorted.
	uses    []use
	missing []string
}

// Rule is one match of one rule, with what precedence needs to know.
type Rule struct {
	ir.Rule
	rank rank
}

// Attachment is a listener that a route attaches to and the hostnames it has there.
type Attachment struct {
	// Gateway is `namespace/name`, and Listener the ID of one of its listeners.
	Gateway  string
	Listener string
	// Table is empty where whole connections are forwarded.
	Table string
	// Passthrough says that connections stay encrypted on their way to the backend.
	Passthrough bool
	Hosts       []Host
}

// Host is a hostname that a route has on a listener.
type Host struct {
	// Domain is the intersection of the route's hostname and the listener's; `*` is any.
	Domain string
	// Original is the route's own hostname, which decides precedence; `*` is any.
	Original string
}

// ListenerKey names a listener in an index.
func ListenerKey(gateway, listener string) string { return gateway + "|" + listener }

// HostKey names a domain of a listener in an index.
func HostKey(gateway, listener, domain string) string { return gateway + "|" + listener + "|" + domain }

// VirtualHostKey names a domain of a route table in an index.
func VirtualHostKey(table, domain string) string { return table + "|" + domain }

// BackendKey names a backend that a Gateway uses in an index.
func BackendKey(gateway, backend string) string { return gateway + "|" + backend }

// ListenerKeys are the listeners the route attaches to.
func (r Resolved) ListenerKeys() []string {
	keys := make([]string, 0, len(r.Attachments))
	for _, a := range r.Attachments {
		keys = append(keys, ListenerKey(a.Gateway, a.Listener))
	}
	return keys
}

// HostKeys are the domains of listeners the route has rules for.
func (r Resolved) HostKeys() []string {
	var keys []string
	for _, served := range r.parts() {
		for _, a := range served.Attachments {
			for _, h := range a.Hosts {
				keys = append(keys, HostKey(a.Gateway, a.Listener, h.Domain))
			}
		}
	}
	return unique(keys)
}

// VirtualHostKeys are the domains of route tables the route has rules for.
func (r Resolved) VirtualHostKeys() []string {
	var keys []string
	for _, served := range r.parts() {
		for _, a := range served.Attachments {
			if a.Table == "" {
				continue
			}
			for _, h := range a.Hosts {
				keys = append(keys, VirtualHostKey(a.Table, h.Domain))
			}
		}
	}
	return unique(keys)
}

// needs is what proxies need for the rules, or for the connections.
func (r Resolved) needs() *ir.Needs {
	needs := ir.NeedsOf(r.Stream)
	for i := range r.Rules {
		needs.Add(&r.Rules[i].Rule)
	}
	return needs
}

// BackendKeys are the backends that each Gateway needs for the route.
func (r Resolved) BackendKeys() []string {
	var keys []string
	for _, served := range r.parts() {
		for _, a := range served.Attachments {
			for _, b := range served.backendsAt(a) {
				keys = append(keys, BackendKey(a.Gateway, b))
			}
		}
	}
	return unique(keys)
}

// BackendNames are the backends that any Gateway needs for the route.
func (r Resolved) BackendNames() []string {
	var names []string
	for _, served := range r.parts() {
		for _, a := range served.Attachments {
			names = append(names, served.backendsAt(a)...)
		}
	}
	return unique(names)
}

func (r Resolved) backendsAt(a Attachment) []string {
	if !a.Passthrough {
		return r.Backends
	}
	names := make([]string, 0, len(r.Backends))
	for _, b := range r.Backends {
		names = append(names, ir.PassthroughName(b))
	}
	return names
}

func unique[T cmp.Ordered](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}
