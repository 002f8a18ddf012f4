package route

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatewright/gatewright/internal/store"
)

// StreamKeys are the domains of listeners for which the route wants whole connections.
func (r Resolved) StreamKeys() []string {
	if r.Stream == nil {
		return nil
	}
	return r.HostKeys()
}

// claim is what a route has to show for the connections of a domain: how specific its own hostname is, and its age.
type claim struct {
	route    Resolved
	original int
}

// before says whether a claim takes precedence over another.
func (c claim) before(other claim) bool {
	return cmp.Or(cmp.Compare(other.original, c.original), compareAge(c.route, other.route)) < 0
}

// outranked says of a route for whole connections at which listeners another gets all of them. It stays attached, as the standard asks, so its
// Accepted condition says it in words.
func (c Contest) outranked(v *store.View, key string, r Resolved) Resolved {
	winners := map[string]string{}
	for _, a := range r.Attachments {
		first := ""
		for _, h := range a.Hosts {
			winner := c.streamWinner(v, key, r, a, h)
			if winner == "" {
				first = ""
				break
			}
			first = cmp.Or(first, winner)
		}
		if first != "" {
			winners[ListenerKey(a.Gateway, a.Listener)] = first
		}
	}
	if len(winners) == 0 {
		return r
	}
	r.Outcome.Parents = slices.Clone(r.Outcome.Parents)
	for i, listeners := range r.listeners {
		lost := slices.DeleteFunc(slices.Clone(listeners), func(l string) bool { return winners[l] == "" })
		if len(lost) == 0 {
			continue
		}
		parent := &r.Outcome.Parents[i]
		parent.Conditions = slices.Clone(parent.Conditions)
		parent.Conditions[0].Message += fmt.Sprintf(", but at %d of %d listeners it gets no connections: %s takes precedence, having a more specific hostname, "+
			"being older, or first by name; remove one of the two", len(lost), len(listeners), winners[lost[0]])
	}
	return r
}

// streamWinner is the key of a route that gets the connections of a domain instead, or empty.
func (c Contest) streamWinner(v *store.View, key string, r Resolved, at Attachment, host Host) string {
	best, winner := claim{route: r, original: specificity(host.Original)}, ""
	for _, other := range c.ByStream.Keys(v, HostKey(at.Gateway, at.Listener, host.Domain)) {
		o, _ := c.Routes.Get(v, other)
		for _, h := range o.hostsAt(at.Gateway, at.Listener) {
			theirs := claim{route: o, original: specificity(h.Original)}
			if other != key && h.Domain == host.Domain && theirs.before(best) {
				best, winner = theirs, other
			}
		}
	}
	return winner
}
