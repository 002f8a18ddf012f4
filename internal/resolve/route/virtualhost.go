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

// VirtualHost collects the rules for one domain of one route table, key being a [VirtualHostKey]. They come from the listener that
// is the most specific one for the domain, and from no other: a listener keeps what a wider one would take. Within it, a request that
// the rules of the most specific route hostname do not match falls through to the next. Where proxies look each host up by itself, they do
// so for exact hostnames; otherwise the rules of wider hostnames are repeated here.
func (in Hosts) VirtualHost(v *store.View, key string) ir.VirtualHost {
	table, domain, _ := strings.Cut(key, "|")
	host := ir.VirtualHost{Table: table, Domain: domain}
	listeners, _ := in.Tables.Get(v, table)
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
	list, beyond := hostBudget(in.candidates(v, GatewayOf(table), owner.ID, domains), *in.Limits)
	host.Beyond = beyond
	for _, c := range list {
		host.Rules = append(host.Rules, settle(c.rule, owner))
	}
	host.Shadowed = shadows(host.Rules)
	return host
}

// GatewayOf is the `namespace/name` of the Gateway that a route table belongs to.
func GatewayOf(table string) string {
	parts := strings.SplitN(table, "/", 3)
	return parts[0] + "/" + parts[1]
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
}

// candidates are the rules of routes that have any of the domains on a listener, the first of which is the one they are for.
func (in Hosts) candidates(v *store.View, gatewayKey, listener string, domains []string) []candidate {
	var list []candidate
	seen := map[string]bool{}
	var repeats limits.Cutoff
	if len(domains) > 1 {
		repeats, _ = in.Repeats.Get(v, ListenerKey(gatewayKey, listener))
	}
	for i, wide := range domains {
		for _, key := range in.ByHost.Keys(v, HostKey(gatewayKey, listener, wide)) {
			if seen[key] {
				continue
			}
			seen[key] = true
			r, _ := in.Routes.Get(v, key)
			if i > 0 && r.Excluded(repeats) {
				continue
			}
			r = r.At(gatewayKey)
			original := mostSpecific(r, gatewayKey, listener, domains[0])
			for i, rule := range r.Rules {
				list = append(list, candidate{
					rule: rule, original: original, created: r.Created, name: r.Name, position: i, route: key, expressions: r.Expressions,
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
	return list
}

// mostSpecific is the specificity of the hostname by which a route takes part in a domain: its own, not what is left of it on the listener.
func mostSpecific(r Resolved, gatewayKey, listener, domain string) int {
	best := 0
	for _, a := range r.Attachments {
		if a.Gateway != gatewayKey || a.Listener != listener {
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

// settle fills in what depends on the listener: the port that a redirect names.
func settle(rule Rule, l gateway.ParentListener) ir.Rule {
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
	settled := rule.Rule
	settled.Redirect = &redirect
	return settled
}
