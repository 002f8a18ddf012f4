package route

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// StreamDomains are the domains of listeners for which the route wants whole connections.
func (r Resolved) StreamDomains() []ir.DomainID {
	if r.Stream == nil {
		return nil
	}
	return r.Domains()
}

// streamCandidate is a route for the connections of a domain, with the specificity of its own hostname.
type streamCandidate struct {
	route    Resolved
	original int
}

// hasPrecedence reports whether a candidate takes precedence over another.
func (c streamCandidate) hasPrecedence(other streamCandidate) bool {
	return cmp.Or(cmp.Compare(other.original, c.original), comparePrecedence(c.route, other.route)) < 0
}

// lowerPrecedence reports in the Accepted condition of a route for whole connections the listeners where another route gets all of them.
// The route stays attached, as the standard asks.
func (c ConflictResolver) lowerPrecedence(v *store.View, key string, r Resolved) Resolved {
	winners := map[ir.ListenerID]string{}
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
			winners[a.ID()] = first
		}
	}
	if len(winners) == 0 {
		return r
	}
	r.Outcome.Parents = slices.Clone(r.Outcome.Parents)
	for i, listeners := range r.listeners {
		lost := slices.DeleteFunc(slices.Clone(listeners), func(l ir.ListenerID) bool { return winners[l] == "" })
		if len(lost) == 0 {
			continue
		}
		parent := &r.Outcome.Parents[i]
		parent.Conditions = slices.Clone(parent.Conditions)
		parent.Conditions[0].Message += fmt.Sprintf(", but at %d of %d listeners it gets no connections: %s takes precedence, having a "+
			"more specific hostname, being older, or first by name; remove one of the two", len(lost), len(listeners), winners[lost[0]])
	}
	return r
}

// streamWinner is the key of a route that gets the connections of a domain instead, or empty.
func (c ConflictResolver) streamWinner(v *store.View, key string, r Resolved, at Attachment, host Host) string {
	best, winner := streamCandidate{route: r, original: specificity(host.Original)}, ""
	for _, other := range c.ByStream.Keys(v, at.ID().Domain(host.Domain)) {
		o, _ := c.Routes.Get(v, other)
		for _, h := range o.hostsAt(at.Gateway, at.Listener) {
			theirs := streamCandidate{route: o, original: specificity(h.Original)}
			if other != key && h.Domain == host.Domain && theirs.hasPrecedence(best) {
				best, winner = theirs, other
			}
		}
	}
	return winner
}
