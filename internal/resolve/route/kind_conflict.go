package route

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// exclusiveKinds are the kinds of which a listener takes only one for each hostname.
var exclusiveKinds = map[string]string{string(store.HTTPRoute): string(store.GRPCRoute), string(store.GRPCRoute): string(store.HTTPRoute)}

// KindID identifies the routes of one kind at a listener.
type KindID struct {
	Listener ir.ListenerID
	Kind     string
}

// String is `<gateway>|<listener>|<kind>`.
func (k KindID) String() string { return k.Listener.String() + "|" + k.Kind }

// ParseKindID is the inverse of [KindID.String].
func ParseKindID(s string) KindID {
	end := max(strings.LastIndexByte(s, '|'), 0)
	return KindID{Listener: ir.ParseListenerID(s[:end]), Kind: strings.TrimPrefix(s[end:], "|")}
}

// Kinds are the listeners at which the route may meet a exclusive.
func (r Resolved) Kinds() []KindID {
	if exclusiveKinds[r.Kind] == "" {
		return nil
	}
	list := make([]KindID, 0, len(r.Attachments))
	for _, a := range r.Attachments {
		list = append(list, KindID{a.ID(), r.Kind})
	}
	return list
}

// ConflictResolver decides between an HTTPRoute and a GRPCRoute that want the same hostname of a listener.
type ConflictResolver struct {
	// Routes are those that listeners would take if there were no other.
	Routes *store.Table[Resolved]
	// ByKind has them by [Resolved.Kinds].
	ByKind *store.IndexOf[KindID, Resolved]
	// Present says, for each of these keys, whether there is any such route. It is apart so that where a listener has one kind only, a
	// route does not depend on the others.
	Present *store.TableOf[KindID, bool]
	// ByStream has the routes that want whole connections by [Resolved.StreamDomains].
	ByStream *store.IndexOf[ir.DomainID, Resolved]
	// Namespaces is the [NamespaceBudget.Shortage] of each of [Resolved.NamespaceKeys].
	Namespaces *store.Table[Shortage]
	Limits     *limits.Limits
}

// Resolve is the route of that key without the listeners where it loses. The standard: of two routes of different kinds whose hostnames
// intersect, a listener takes the older, then the one whose name comes first. One whose rules cannot be served keeps its hostnames too, and
// answers errors: a request that it was to check gets to no route of the other kind. What a Gateway has no room for is closed in the end.
func (c ConflictResolver) Resolve(v *store.View, key string) Resolved {
	r, _ := c.Routes.Get(v, key)
	// A conflict that it loses makes no large route small: it is not charged for its bytes.
	large := r.large(c.Limits)
	if r.Stream != nil {
		r = c.lowerPrecedence(v, key, r)
	} else {
		r = c.withoutLost(v, key, r)
	}
	return r.within(c.Limits, large, func(key string) Shortage {
		shortage, _ := c.Namespaces.Get(v, key)
		return shortage
	})
}

// withoutLost is a route without the listeners where one of the other kind has precedence.
func (c ConflictResolver) withoutLost(v *store.View, key string, r Resolved) Resolved {
	if !slices.ContainsFunc(r.Attachments, func(a Attachment) bool { return c.conflicts(v, r, a) }) {
		return r
	}
	known, winners := map[contender]string{}, map[ir.ListenerID]string{}
	for _, a := range r.Attachments {
		if winner := c.winner(v, known, key, r, a); winner != "" {
			winners[a.ID()] = winner
		}
	}
	if len(winners) == 0 {
		return r
	}
	return r.without(winners)
}

// conflicts says whether a listener has routes of both kinds.
func (c ConflictResolver) conflicts(v *store.View, r Resolved, at Attachment) bool {
	exclusive := exclusiveKinds[r.Kind]
	if exclusive == "" {
		return false
	}
	present, _ := c.Present.Get(v, KindID{at.ID(), exclusive})
	return present
}

// contender is a route at a listener.
type contender struct {
	listener ir.ListenerID
	route    string
}

// winner is the key of a route that keeps this one from a listener, or empty. Each route is evaluated once: known holds the results.
func (c ConflictResolver) winner(v *store.View, known map[contender]string, key string, r Resolved, at Attachment) string {
	place := contender{at.ID(), key}
	if winner, ok := known[place]; ok {
		return winner
	}
	winner := ""
	for _, other := range c.ByKind.Keys(v, KindID{at.ID(), exclusiveKinds[r.Kind]}) {
		o, _ := c.Routes.Get(v, other)
		if !o.hasPrecedence(r) {
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

// hasPrecedence reports whether a route takes precedence over another, by age and name.
func (r Resolved) hasPrecedence(other Resolved) bool { return comparePrecedence(r, other) < 0 }

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
func (r Resolved) without(winners map[ir.ListenerID]string) Resolved {
	r.Attachments = slices.DeleteFunc(slices.Clone(r.Attachments), func(a Attachment) bool {
		return winners[a.ID()] != ""
	})
	r.Outcome.Parents = slices.Clone(r.Outcome.Parents)
	for i, listeners := range r.listeners {
		lost := slices.DeleteFunc(slices.Clone(listeners), func(l ir.ListenerID) bool { return winners[l] == "" })
		if len(lost) == 0 {
			continue
		}
		parent := &r.Outcome.Parents[i]
		parent.Conditions = slices.Clone(parent.Conditions)
		parent.Listeners = slices.DeleteFunc(slices.Clone(parent.Listeners), func(id string) bool {
			return winners[ir.ListenerID{Gateway: parent.Gateway, Listener: id}] != ""
		})
		accepted := &parent.Conditions[0]
		reason := fmt.Sprintf("%s, which is older or comes first by name, has a hostname of this route, and a listener takes either "+
			"HTTPRoutes or "+
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
