package route

import (
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
)

// Rules are small as they are here, where all that have the same filters share them. Proxies are sent a copy with each match of each
// hostname. So what a route takes is known before any of it is made.

// What Envoy's messages have beside the texts of an object, generously.
const (
	ruleRoom    = 128
	backendRoom = 96
	matchRoom   = 24
	// hostRoom is for a virtual host without its rules, and filterNames for the filters that rules have the host enable.
	hostRoom    = 768
	filterNames = 1 << 10
	// treeRules is the number of rules from which on a host may be a tree, and treeRoom what a rule may take more there; see translate/route.
	treeRules = 64
	treeRoom  = 3 << 10
	treeKeys  = 3
)

// SizeOf is how many bytes a rule takes of what proxies are sent, and how many routes of Envoy it becomes.
type SizeOf func(rule *ir.Rule) (bytes, routes int)

// shape is what the routes of rules with the same filters differ by, beside the texts of their matches.
type shape struct {
	rule                    string
	kind                    ir.MatchKind
	root, method, preflight bool
}

func shapeOf(r *ir.Rule) shape {
	return shape{
		rule: ruleOf(r.Name), kind: r.Match.Path.Kind, root: strings.Trim(r.Match.Path.Value, "/") == "",
		method: r.Match.Method != "", preflight: r.Match.Preflight,
	}
}

// measure notes how many bytes each rule takes. Of rules that share their filters, one is measured.
func (in Inputs) measure(rules []Rule) {
	if in.Size == nil {
		return
	}
	type measured struct{ bytes, routes int }
	known, room := map[shape]measured{}, filterNames
	for i := range rules {
		rule := &rules[i].Rule
		if isPlain(rule) {
			continue
		}
		m, ok := known[shapeOf(rule)]
		if !ok {
			m.bytes, m.routes = in.Size(rule)
			m.bytes -= m.routes * matchSize(&rule.Match)
			known[shapeOf(rule)] = m
		}
		// The host enables a filter once.
		rules[i].Bytes, room = room+ruleRoom+m.bytes+m.routes*matchSize(&rule.Match), 0
	}
}

// isPlain says whether a rule has nothing but a match, backends and what is the same in all rules.
func isPlain(r *ir.Rule) bool {
	if r.RequestHeaders != nil || r.ResponseHeaders != nil || r.Policy != nil || r.Extensions != nil || r.Redirect != nil || r.Respond != nil {
		return false
	}
	if r.Forward == nil {
		return true
	}
	if r.Forward.Rewrite != nil || len(r.Forward.Mirrors) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.Forward.Backends, func(b ir.WeightedBackend) bool {
		return b.RequestHeaders != nil || b.ResponseHeaders != nil || b.Rewrite != nil || b.Session != nil || b.Picker != nil ||
			b.Backend.Kind == ir.KindFailover
	})
}

// size is how many bytes the rule takes of a virtual host.
func (r *Rule) size() int {
	if r.Bytes > 0 {
		return r.Bytes
	}
	size := ruleRoom + len(r.Name) + matchSize(&r.Match)
	if r.Forward != nil {
		for i := range r.Forward.Backends {
			object := &r.Forward.Backends[i].Backend.Object
			size += backendRoom + len(object.Namespace) + len(object.Name)
		}
	}
	return size
}

func matchSize(m *ir.Match) int {
	size := matchRoom + len(m.Path.Value) + namedSize(m.Headers) + namedSize(m.Query) + namedSize(m.Cookies.All())
	if m.Method != "" {
		size += matchRoom + len(m.Method)
	}
	return size
}

func namedSize(list []ir.NamedMatch) int {
	size := 0
	for i := range list {
		size += matchRoom + len(list[i].Name) + len(list[i].Value)
	}
	return size
}

// Bytes is how many bytes all rules take of one virtual host.
func (r Resolved) Bytes() int {
	sum := 0
	for i := range r.Rules {
		sum += r.Rules[i].size()
	}
	return sum
}

// treeSize is what the rule may take more in a host that is a tree, with the keys that its path needs there.
func (r *Rule) treeSize() int { return treeRoom + treeKeys*len(r.Match.Path.Value) }

// inherits says whether the settings of policies above a rule are repeated with it. One that only answers an error has none.
func (r *Rule) inherits() bool { return r.Fail == nil || r.Policy != nil }

// bytesAt is how many bytes the rules take of a hostname at a listener. The filters and policies there count for the routes that attach to
// it: once, and policies with each rule that inherits from them.
func (r Resolved) bytesAt(a *Attachment, domain string, rules int) int {
	bytes := hostRoom + a.FilterBytes + rules + len(r.Rules)*len(domain)
	if a.PolicyBytes == 0 {
		return bytes
	}
	times := 1
	for i := range r.Rules {
		if r.Rules[i].inherits() {
			times++
		}
	}
	return bytes + times*a.PolicyBytes
}

// eachHost calls do with the bytes that the route takes of each virtual host, and with a listener. Of several listeners with the hostname,
// any one may have the host, so the largest counts.
func (r Resolved) eachHost(do func(a *Attachment, bytes int)) {
	if len(r.Rules) == 0 {
		return
	}
	rules := r.Bytes()
	var largest map[ir.HostID]int
	if len(r.Attachments) > 1 {
		largest = map[ir.HostID]int{}
		for i := range r.Attachments {
			a := &r.Attachments[i]
			for _, h := range a.Hosts {
				host := a.Table.Host(h.Domain)
				largest[host] = max(largest[host], r.bytesAt(a, h.Domain, rules))
			}
		}
	}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		for _, h := range a.Hosts {
			if largest == nil {
				do(a, r.bytesAt(a, h.Domain, rules))
				continue
			}
			host := a.Table.Host(h.Domain)
			if bytes, left := largest[host]; left {
				delete(largest, host)
				do(a, bytes)
			}
		}
	}
}

// allBytes is how many bytes the route takes of all Gateways.
func (r Resolved) allBytes() int {
	sum := 0
	r.eachHost(func(_ *Attachment, bytes int) { sum += bytes })
	return sum
}

// bytesOn is how many bytes the route takes of a Gateway.
func (r Resolved) bytesOn(gateway string) int {
	sum := 0
	r.eachHost(func(a *Attachment, bytes int) {
		if a.Gateway == gateway {
			sum += bytes
		}
	})
	return sum
}

// large is how many bytes the route takes of the Gateways where it is beyond its own limit.
func (r Resolved) large(l *limits.Limits) map[string]int {
	if r.allBytes() <= l.RouteBytes {
		return nil
	}
	large := map[string]int{}
	for _, gateway := range r.Gateways() {
		if bytes := r.bytesOn(gateway); bytes > l.RouteBytes {
			large[gateway] = bytes
		}
	}
	return large
}

// chargedOn is how many bytes of a Gateway are charged to the route. One that is beyond its own limit takes what its errors take.
func (r Resolved) chargedOn(l *limits.Limits, gateway string) int {
	if bytes := r.bytesOn(gateway); bytes <= l.RouteBytes {
		return bytes
	}
	return r.errors(l, gateway).bytesOn(gateway)
}

// chargedTo is how many bytes of a fleet are charged to the route, or of all fleets if it is empty.
func (r Resolved) chargedTo(l *limits.Limits, fleet string) int {
	return r.sumAt(fleet, func(gateway string) int { return r.chargedOn(l, gateway) })
}

// errorBytes is how many bytes of a fleet the route takes while it answers errors, or of all fleets if it is empty.
func (r Resolved) errorBytes(l *limits.Limits, fleet string) int {
	return r.sumAt(fleet, func(gateway string) int { return r.errors(l, gateway).bytesOn(gateway) })
}

// sumAt adds up something of the Gateways of a fleet, or of all fleets if it is empty.
func (r Resolved) sumAt(fleet string, of func(gateway string) int) int {
	sum, last := 0, ""
	for i := range r.Attachments {
		// They are in order of their Gateways.
		if a := &r.Attachments[i]; (fleet == "" || a.Fleet() == fleet) && a.Gateway != last {
			sum, last = sum+of(a.Gateway), a.Gateway
		}
	}
	return sum
}

// ChargedBytes is how many bytes are charged to the route, by [Resolved.Fleets], and by its namespace those of all fleets.
func (r Resolved) ChargedBytes(l *limits.Limits) map[string]int {
	if len(r.Rules) == 0 || len(r.Attachments) == 0 {
		return nil
	}
	charged, last := map[string]int{}, ""
	for i := range r.Attachments {
		// They are in order of their Gateways.
		if a := &r.Attachments[i]; a.Gateway != last {
			last = a.Gateway
			bytes := r.chargedOn(l, a.Gateway)
			charged[a.Fleet()] += bytes
			charged[r.Name.Namespace] += bytes
		}
	}
	return charged
}

// errors is the route with errors for answers, in as many bytes as a route may take: if need be, only the paths of its matches are left.
func (r Resolved) errors(l *limits.Limits, gateway string) Resolved {
	closed := r.cheaply()
	if closed.bytesOn(gateway) > l.RouteBytes {
		return r.Widened().cheaply()
	}
	return closed
}
