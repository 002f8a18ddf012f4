package route

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
)

// VirtualHost collects the rules for one domain of one route table. They come from the listener that
// is the most specific one for the domain, and from no other: a listener keeps what a wider one would take. Within it, a request that
// the rules of the most specific route hostname do not match falls through to the next. Where proxies look each host up by itself, they do
// so for exact hostnames; otherwise the rules of wider hostnames are repeated here.
func (in Hosts) VirtualHost(v *store.View, id ir.HostID) ir.VirtualHost {
	domain := id.Domain
	host := ir.VirtualHost{Table: id.Table, Domain: domain}
	listeners, _ := in.Tables.Get(v, id.Table)
	owner, ok := OwnerOf(listeners, domain)
	if !ok {
		return host
	}
	if owner.Protocol == ir.HTTPS {
		// TLS has chosen a listener already: what came by another one must not get in here.
		host.Chain = owner.ID
	}
	host.Filters = owner.Filters
	domains := wider(domain)
	if owner.ByHost && exact(domain) && len(owner.Filters) == 0 {
		// Where requests pass filters before a route is chosen, there is a route for each of them, so that none falls through.
		domains = domains[:1]
		host.FallsThrough = owner.Hostname != domain
	}
	all, beside, unrepeated := in.candidates(v, ir.ListenerID{Gateway: id.Table.Gateway, Listener: owner.ID}, id.Table, domains)
	list, beyond, full := hostBudget(all, *in.Limits)
	host.Beyond, host.ClosedBeside, host.Bytes = beyond, beside, hostRoom+owner.FilterBytes+bytesOf(list)
	above := in.above(v, ir.ListenerID{Gateway: id.Table.Gateway, Listener: owner.ID})
	if above.layer != nil {
		host.Policy = above.layer.Request
	}
	for _, c := range list {
		host.Rules = append(host.Rules, above.inherit(c.rule, withRedirectPort(c.rule, owner)))
	}
	if full || unrepeated {
		host.Rules, host.FallsThrough = append(host.Rules, unmatched()), false
	}
	host.Shadowed = shadows(host.Rules)
	host = host.WithDatabases(owner.Databases)
	if !owner.ByHost {
		// The whole table is in a file that is no Secret.
		return host.WithoutSecrets()
	}
	return host
}

// above are the policies above the rules of a listener.
func (in Hosts) above(v *store.View, listener ir.ListenerID) *upper {
	u := &upper{}
	if in.Policies != nil {
		u.layer, _ = in.Policies.Get(v, listener)
	}
	return u
}

// OwnerOf finds, among the listeners of a table, the one whose hostname is the most specific that covers the domain.
func OwnerOf(listeners []gateway.ParentListener, domain string) (gateway.ParentListener, bool) {
	var owner gateway.ParentListener
	best := -1
	for _, l := range listeners {
		pattern := l.Hostname
		if pattern == "" {
			pattern = anyHost
		}
		if covers(pattern, domain) && specificity(pattern) > best {
			owner, best = l, specificity(pattern)
		}
	}
	return owner, best >= 0
}

// candidate is a rule with all that its place in the order depends on.
type candidate struct {
	rule     Rule
	original int
	created  int64
	name     ir.Name
	position int
	// route is the key of the route, and expressions what it has of them.
	route       string
	expressions int
	// inherited is how many bytes the policies on the listener add to the rule, and domain the length of the hostname.
	inherited, domain int
}

// candidates are the rules of routes that have any of the domains on a listener, the first of which is the one they are for. It says too
// which routes are closed beside one that is not known, and whether rules are left out.
func (in Hosts) candidates(
	v *store.View, listener ir.ListenerID, table ir.TableID, domains []string,
) (list []candidate, beside []string, leftOut bool) {
	seen := map[string]bool{}
	var repeats, wildcards limits.Tiers
	if len(domains) > 1 {
		repeats, _ = in.Repeats.Get(v, listener)
	}
	if !exact(domains[0]) && in.Wildcards != nil {
		wildcards, _ = in.Wildcards.Get(v, table)
	}
	for i, wide := range domains {
		for _, key := range in.ByDomain.Keys(v, listener.Domain(wide)) {
			if seen[key] {
				continue
			}
			seen[key] = true
			r, _ := in.Routes.Get(v, key)
			if instead, replaced := in.Instead[key]; replaced {
				r = r.With(listener.Gateway, instead)
			}
			place := r.WildcardPlace(wildcards)
			if i > 0 {
				place = max(place, r.Repeated(repeats))
			}
			if place == limits.LeftOut {
				leftOut = true
				continue
			}
			r = r.At(listener.Gateway)
			if place == limits.Closed {
				r = r.cheaply()
			}
			original, inherited := mostSpecific(r, listener, domains[0]), r.policyBytes(listener)
			for i, rule := range r.rulesAt(listener.Domain(wide)) {
				list = append(list, candidate{
					rule: rule, original: original, created: r.Created, name: r.Name, position: i, route: key, expressions: r.Expressions,
					inherited: inherited, domain: len(domains[0]),
				})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(b.original, a.original),
			a.rule.rank.compare(b.rule.rank),
			cmp.Compare(a.created, b.created),
			cmp.Compare(a.name.Namespace, b.name.Namespace),
			cmp.Compare(a.name.Name, b.name.Name),
			cmp.Compare(a.position, b.position),
		)
	})
	return list, closeRest(list), leftOut
}

// closeRest closes the rules of a namespace for a hostname of which some are not known, see [Rule.Rest]: it is not known either which of
// them would get the requests of those. It returns the routes whose rules are all known.
func closeRest(list []candidate) []string {
	type place struct {
		namespace string
		original  int
	}
	var unknown map[place]bool
	var reported map[string]bool
	for _, c := range list {
		if c.rule.Rest {
			if unknown == nil {
				unknown, reported = map[place]bool{}, map[string]bool{}
			}
			unknown[place{c.name.Namespace, c.original}] = true
			reported[c.route] = true
		}
	}
	var beside []string
	for i, c := range list {
		if unknown[place{c.name.Namespace, c.original}] {
			list[i] = c.closed()
			if !reported[c.route] {
				beside = append(beside, c.route)
			}
		}
	}
	return unique(beside)
}

// policyBytes is how many bytes the policies on a listener add to each rule.
func (r Resolved) policyBytes(listener ir.ListenerID) int {
	for i := range r.Attachments {
		if a := &r.Attachments[i]; a.Gateway == listener.Gateway && a.Listener == listener.Listener {
			return a.PolicyBytes
		}
	}
	return 0
}

// mostSpecific is the specificity of the hostname by which a route takes part in a domain: its own, not what is left of it on the listener.
func mostSpecific(r Resolved, listener ir.ListenerID, domain string) int {
	best := 0
	for _, a := range r.Attachments {
		if a.ID() != listener {
			continue
		}
		for _, h := range a.Hosts {
			if covers(h.Domain, domain) {
				best = max(best, specificity(h.Original))
			}
		}
	}
	return best
}

// withRedirectPort is a rule with what depends on the listener: the port that a redirect names.
func withRedirectPort(rule Rule, l gateway.ParentListener) ir.Rule {
	if rule.Redirect == nil {
		return rule.Rule
	}
	redirect := *rule.Redirect
	scheme, port := redirect.Scheme, redirect.Port
	if port == 0 && scheme == "" {
		port = l.Port
	}
	if scheme == "" {
		scheme = strings.ToLower(string(l.Protocol))
	}
	if (scheme == "http" && port == 80) || (scheme == "https" && port == 443) {
		port = 0
	}
	redirect.Port = port
	complete := rule.Rule
	complete.Redirect = &redirect
	return complete
}
