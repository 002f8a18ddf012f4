package route

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// rivals are the kinds of which a listener takes only one for each hostname.
var rivals = map[string]string{string(store.HTTPRoute): string(store.GRPCRoute), string(store.GRPCRoute): string(store.HTTPRoute)}

// KindKey names the routes of one kind at a listener in an index.
func KindKey(gateway, listener, kind string) string {
	return ListenerKey(gateway, listener) + "|" + kind
}

// KindKeys are the listeners at which the route may meet a rival.
func (r Resolved) KindKeys() []string {
	if rivals[r.Kind] == "" {
		return nil
	}
	keys := make([]string, 0, len(r.Attachments))
	for _, a := range r.Attachments {
		keys = append(keys, KindKey(a.Gateway, a.Listener, r.Kind))
	}
	return keys
}

// Contest says which routes are taken where an HTTPRoute and a GRPCRoute want the same hostname of a listener.
type Contest struct {
	// Routes are those that listeners would take if there were no other.
	Routes *store.Table[Resolved]
	// ByKind has them by [Resolved.KindKeys].
	ByKind *store.Index[Resolved]
	// Present says, for each of these keys, whether there is any such route. It is apart so that where a listener has one kind only, a
	// route does not depend on the others.
	Present *store.Table[bool]
	// ByStream has the routes that want whole connections by [Resolved.StreamKeys].
	ByStream *store.Index[Resolved]
	// Namespaces is the [NamespaceBudget.Shortage] of each of [Resolved.NamespaceKeys].
	Namespaces *store.Table[Shortage]
}

// Settle is the route of that key without the listeners where it loses. The standard: of two routes of different kinds whose hostnames
// intersect, a listener takes the older, then the one whose name comes first. One that is not accepted itself does not stand in the way.
func (c Contest) Settle(v *store.View, key string) Resolved {
	r, _ := c.Routes.Get(v, key)
	r = r.within(func(key string) Shortage {
		shortage, _ := c.Namespaces.Get(v, key)
		return shortage
	})
	if r.Stream != nil {
		return c.outranked(v, key, r)
	}
	if !slices.ContainsFunc(r.Attachments, func(a Attachment) bool { return c.contested(v, r, a) }) {
		return r
	}
	known, winners := map[string]string{}, map[string]string{}
	for _, a := range r.Attachments {
		if winner := c.winner(v, known, key, r, a); winner != "" {
			winners[ListenerKey(a.Gateway, a.Listener)] = winner
		}
	}
	if len(winners) == 0 {
		return r
	}
	return r.without(winners)
}

// contested says whether a listener has routes of both kinds.
func (c Contest) contested(v *store.View, r Resolved, at Attachment) bool {
	rival := rivals[r.Kind]
	if rival == "" {
		return false
	}
	present, _ := c.Present.Get(v, KindKey(at.Gateway, at.Listener, rival))
	return present
}

// winner is the key of a route that keeps this one from a listener, or empty. Each route is judged once: known holds the verdicts.
func (c Contest) winner(v *store.View, known map[string]string, key string, r Resolved, at Attachment) string {
	place := ListenerKey(at.Gateway, at.Listener) + "|" + key
	if winner, ok := known[place]; ok {
		return winner
	}
	winner := ""
	for _, other := range c.ByKind.Keys(v, KindKey(at.Gateway, at.Listener, rivals[r.Kind])) {
		o, _ := c.Routes.Get(v, other)
		if o.Refused || !o.before(r) {
			continue
		}
		theirs := slices.IndexFunc(o.Attachments, func(a Attachment) bool { return compareAttachments(a, at) == 0 })
		if theirs >= 0 && meet(o.Attachments[theirs].Hosts, at.Hosts) && c.winner(v, known, other, o, o.Attachments[theirs]) == "" {
			winner = other
			break
		}
	}
	known[place] = winner
	return winner
}

// before says whether a route comes before another in the order of age and name.
func (r Resolved) before(other Resolved) bool {
	return cmp.Or(
		cmp.Compare(r.Created, other.Created),
		cmp.Compare(r.Name.Namespace, other.Name.Namespace),
		cmp.Compare(r.Name.Name, other.Name.Name),
		cmp.Compare(r.Kind, other.Kind),
	) < 0
}

func meet(a, b []Host) bool {
	for _, x := range a {
		for _, y := range b {
			if _, ok := intersect(x.Domain, y.Domain); ok {
				return true
			}
		}
	}
	return false
}

// without takes a route from the listeners it lost, and says so. A parent that is left with none does not accept it.
func (r Resolved) without(winners map[string]string) Resolved {
	r.Attachments = slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool {
		return winners[ListenerKey(a.Gateway, a.Listener)] != ""
	})
	r.Outcome.Parents = slices.Clone(r.Outcome.Parents)
	for i, listeners := range r.listeners {
		lost := slices.DeleteFunc(slices.Clone(listeners), func(l string) bool { return winners[l] == "" })
		if len(lost) == 0 {
			continue
		}
		parent := &r.Outcome.Parents[i]
		parent.Conditions = slices.Clone(parent.Conditions)
		accepted := &parent.Conditions[0]
		reason := fmt.Sprintf("%s, which is older or comes first by name, has a hostname of this route, and a listener takes either HTTPRoutes or "+
			"GRPCRoutes for it; give one of them another hostname", winners[lost[0]])
		if len(lost) < len(listeners) {
			accepted.Message += fmt.Sprintf(", but not to %d of its listeners: %s", len(lost), reason)
			continue
		}
		accepted.State, accepted.Reason, accepted.Message = outcome.False, string(gwv1.RouteReasonNotAllowedByListeners), reason
		parent.Gateway = ""
	}
	return r
}
