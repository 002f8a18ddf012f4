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
	// Stream is where a route that forwards whole connections sends them. It has no Rules. Destination has the settings of policies for these
	// connections; nil for none.
	Stream      *ir.Stream
	Destination *ir.DestinationLayer `json:",omitempty"`
	// Backends are the backends that it uses, sorted.
	Backends []ir.Backend
	Outcome  outcome.Route
	// Instead has what is served at Gateways whose proxies refuse the rules, or that have no room for them; see [Resolved.At].
	Instead map[string]Resolved
	// BeyondLimit says of something in Instead that the Gateway has no room for the rules.
	BeyondLimit bool `json:",omitempty"`
	// Elsewhere is for the hostnames that an earlier version did not have; nil for none.
	Elsewhere *Elsewhere `json:"-"`
	// listeners has, for each parent of the outcome, the listeners that accept the route.
	listeners [][]ir.ListenerID
	// uses are the backends by the rules that refer to them, and missing the Services that do not exist, as `namespace/name`, sorted.
	uses    []use
	missing []string
	// imports are the InferencePoolImports that rules refer to, as `namespace/name`, sorted.
	imports []string
	// rejected are the rules that policies on the route reject.
	rejected []Rejected
	// guarded is a digest of what guards its requests, see [Inputs.guardsOf].
	guarded uint64
}

// Rule is one match of one rule, with what precedence needs to know.
type Rule struct {
	ir.Rule
	// Destination has the settings of policies on the rule, or its route, for connections to backends; nil for none.
	Destination *ir.DestinationLayer `json:",omitempty"`
	// Unchecked says that the rule answers an error because it is not known what requests are to be checked for, and not for want of a
	// backend.
	Unchecked bool `json:",omitempty"`
	// Rest says that the rule stands for rules that are not known. It answers an error for all requests for its hostnames that no rule of
	// another namespace matches.
	Rest bool `json:",omitempty"`
	// Place is set if that is not the place of its match, for another replica to read.
	Place *Place `json:",omitempty"`
	// Bytes is how many bytes the rule takes of what proxies are sent, 0 for one that has only a match and backends.
	Bytes int `json:",omitempty"`
	rank  rank
}

// Attachment is a listener that a route attaches to and the hostnames it has there.
type Attachment struct {
	// Gateway is `namespace/name`, and Listener the ID of one of its listeners.
	Gateway  string
	Listener string
	// Shared is the fleet that the Gateway shares with others, empty for none.
	Shared string `json:",omitempty"`
	// Table is zero where whole connections are forwarded.
	Table ir.TableID
	// Passthrough says that connections stay encrypted on their way to the backend.
	Passthrough bool
	Hosts       []Host
	// Destination has the settings of policies on the listener for connections to backends; nil for none.
	Destination *ir.DestinationLayer `json:",omitempty"`
	// PolicyBytes is how many bytes the policies on the listener add to each rule.
	PolicyBytes int `json:",omitempty"`
	// FilterBytes is how many bytes the filters of the listener add to each hostname.
	FilterBytes int `json:",omitempty"`
}

// Host is a hostname that a route has on a listener.
type Host struct {
	// Domain is the intersection of the route's hostname and the listener's; `*` is any.
	Domain string
	// Original is the route's own hostname, which decides precedence; `*` is any.
	Original string
}

// ID is the listener.
func (a Attachment) ID() ir.ListenerID {
	return ir.ListenerID{Gateway: a.Gateway, Listener: a.Listener}
}

// Fleet names the proxies of the Gateway: what these take is limited, whichever of their Gateways it is for.
func (a Attachment) Fleet() string { return cmp.Or(a.Shared, a.Gateway) }

// Listeners are those that the route attaches to.
func (r Resolved) Listeners() []ir.ListenerID {
	list := make([]ir.ListenerID, 0, len(r.Attachments))
	for _, a := range r.Attachments {
		list = append(list, a.ID())
	}
	return list
}

// NotAccepted are the listeners that the route attaches to only to answer errors: no parent with them accepts it.
func (r Resolved) NotAccepted() []ir.ListenerID {
	refused := func(p outcome.Parent) bool { return len(p.Conditions) == 0 || p.Conditions[0].State != outcome.True }
	if !slices.ContainsFunc(r.Outcome.Parents, refused) {
		return nil
	}
	return slices.DeleteFunc(r.Listeners(), func(id ir.ListenerID) bool {
		for i, listeners := range r.listeners {
			if !refused(r.Outcome.Parents[i]) && slices.Contains(listeners, id) {
				return true
			}
		}
		return false
	})
}

// Domains are the domains of listeners the route has rules for, each once.
func (r Resolved) Domains() []ir.DomainID {
	var list []ir.DomainID
	for served := range r.parts() {
		for _, a := range served.Attachments {
			for _, h := range a.Hosts {
				list = append(list, a.ID().Domain(h.Domain))
			}
		}
	}
	return distinct(list)
}

// VirtualHosts are those that the route has rules for, each once.
func (r Resolved) VirtualHosts() []ir.HostID {
	var list []ir.HostID
	for served := range r.parts() {
		for _, a := range served.Attachments {
			if a.Table.IsZero() {
				continue
			}
			for _, h := range a.Hosts {
				list = append(list, a.Table.Host(h.Domain))
			}
		}
	}
	return distinct(list)
}

// needs is what proxies need for the rules, or for the connections.
func (r Resolved) needs() *ir.Needs {
	needs := ir.NeedsOf(r.Stream)
	for i := range r.Rules {
		needs.Add(&r.Rules[i].Rule)
	}
	return needs
}

// GatewayBackends are the backends that each Gateway needs for the route, each once.
func (r Resolved) GatewayBackends() []ir.GatewayBackend {
	var list []ir.GatewayBackend
	for served := range r.partsAndRejected() {
		for _, a := range served.Attachments {
			for _, b := range served.backendsAt(a) {
				list = append(list, ir.GatewayBackend{Gateway: a.Gateway, Backend: b})
			}
		}
	}
	return distinct(list)
}

// GatewayCredentials are the credentials that each Gateway needs for the route, each once. Most routes need none.
func (r Resolved) GatewayCredentials() []ir.GatewaySecret {
	var list []ir.GatewaySecret
	for served := range r.parts() {
		var names []string
		for i := range served.Rules {
			if policy := served.Rules[i].Policy; policy != nil && policy.OIDC != nil {
				names = append(names, ir.NeedsOf(policy).Credentials()...)
			}
			if layer := served.Rules[i].Destination; layer != nil {
				names = append(names, ir.NeedsOf(&layer.Settings).Credentials()...)
			}
		}
		for _, name := range unique(names) {
			for _, a := range served.Attachments {
				list = append(list, ir.GatewaySecret{Gateway: a.Gateway, Secret: name})
			}
		}
	}
	return distinct(list)
}

// AllBackends are the backends that any Gateway needs for the route, each once.
func (r Resolved) AllBackends() []ir.Backend {
	var list []ir.Backend
	for served := range r.partsAndRejected() {
		for _, a := range served.Attachments {
			list = append(list, served.backendsAt(a)...)
			if served.varies(a) {
				// What is known of a backend is known of its variants.
				list = append(list, served.plainBackendsAt(a)...)
			}
		}
	}
	return distinct(list)
}

func (r Resolved) backendsAt(a Attachment) []ir.Backend {
	if r.varies(a) {
		return passing(a, r.variantsAt(a))
	}
	return r.plainBackendsAt(a)
}

// plainBackendsAt are the backends without their variants.
func (r Resolved) plainBackendsAt(a Attachment) []ir.Backend { return passing(a, r.Backends) }

func passing(a Attachment, backends []ir.Backend) []ir.Backend {
	if !a.Passthrough {
		return backends
	}
	list := make([]ir.Backend, 0, len(backends))
	for _, b := range backends {
		list = append(list, b.Passthrough())
	}
	return list
}

// distinct keeps the first of equal elements. Most lists have few.
func distinct[T comparable](list []T) []T {
	if len(list) < manyElements {
		kept := list[:0:0]
		for _, element := range list {
			if !slices.Contains(kept, element) {
				kept = append(kept, element)
			}
		}
		return kept
	}
	seen := make(map[T]struct{}, len(list))
	return slices.DeleteFunc(list, func(element T) bool {
		_, twice := seen[element]
		seen[element] = struct{}{}
		return twice
	})
}

const manyElements = 8

func unique[T cmp.Ordered](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}
