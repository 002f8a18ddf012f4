package route

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// taken is what a route takes of a host.
type taken struct {
	limits.Item
	rules, expressions, bytes int
	// errorBytes is what it takes while it answers errors.
	errorBytes int
}

// hostBudget has the routes that a host has no room for answer errors, and names them. The room is shared by the namespaces that have
// routes there. It has room for as much again that answers errors; full says that not even this is all there. Then all routes of the
// namespaces that have too much answer errors.
func hostBudget(list []candidate, l limits.Limits) (kept []candidate, beyond []string, full bool) {
	if len(list) <= l.HostRules && expressionsOf(list) <= l.HostExpressions && bytesOf(list) <= l.HostBytes {
		return list, nil, false
	}
	byRoute := takenBy(list)
	rules := limits.Share(weigh(byRoute, func(t *taken) int { return t.rules }), l.HostRules)
	expressions := limits.Share(weigh(byRoute, func(t *taken) int { return t.expressions }), l.HostExpressions)
	bytes := limits.Share(weigh(byRoute, func(t *taken) int { return t.bytes }), l.HostBytes)
	closed := func(t *taken) bool {
		return rules.Excludes(t.with(t.rules)) || expressions.Excludes(t.with(t.expressions)) || bytes.Excludes(t.with(t.bytes))
	}
	errors := map[string]*taken{}
	for route, t := range byRoute {
		if closed(t) {
			errors[route] = t
		}
	}
	leftOut := []limits.Shares{
		limits.Share(weigh(errors, func(t *taken) int { return t.rules }), l.HostRules),
		limits.Share(weigh(errors, func(t *taken) int { return t.errorBytes }), l.HostBytes),
	}
	for _, c := range list {
		t := byRoute[c.route]
		all, out := t.leftOut(leftOut)
		if !closed(t) && !all {
			kept = append(kept, c)
			continue
		}
		beyond = append(beyond, c.route)
		if !closed(t) || !out {
			kept = append(kept, c.closed())
		}
	}
	return kept, unique(beyond), len(leftOut[0])+len(leftOut[1]) > 0
}

// leftOut says whether the namespace of the route has too much that answers errors, and whether the route is among what is left out.
func (t *taken) leftOut(all []limits.Shares) (namespace, route bool) {
	for _, shares := range all {
		_, exceeded := shares[t.Owner]
		namespace, route = namespace || exceeded, route || shares.Excludes(t.with(t.rules))
	}
	return namespace, route
}

// takenBy is what each route takes of a host.
func takenBy(list []candidate) map[string]*taken {
	byRoute := map[string]*taken{}
	for i := range list {
		c := &list[i]
		t := byRoute[c.route]
		if t == nil {
			t = &taken{Item: limits.Item{Created: c.created, Key: c.route, Owner: c.name.Namespace}, expressions: c.expressions}
			byRoute[c.route] = t
		}
		t.rules++
		t.bytes += c.bytes(len(list))
		closed := c.closed()
		t.errorBytes += closed.bytes(len(list))
	}
	return byRoute
}

// with is the route as an item that takes so much.
func (t *taken) with(weight int) limits.Item {
	item := t.Item
	item.Weight = weight
	return item
}

func weigh(byRoute map[string]*taken, weight func(*taken) int) []limits.Item {
	list := make([]limits.Item, 0, len(byRoute))
	for _, t := range byRoute {
		list = append(list, t.with(weight(t)))
	}
	return list
}

// bytes is what a rule takes of a host with so many.
func (c *candidate) bytes(rules int) int {
	bytes := c.rule.size() + c.domain
	if c.rule.inherits() {
		bytes += c.inherited
	}
	if rules >= treeRules {
		bytes += c.rule.treeSize()
	}
	return bytes
}

// bytesOf is what the rules of a host take, with what they inherit.
func bytesOf(list []candidate) int {
	sum, inherited := 0, 0
	for i := range list {
		sum, inherited = sum+list[i].bytes(len(list)), max(inherited, list[i].inherited)
	}
	return sum + inherited
}

func expressionsOf(list []candidate) int {
	sum, seen := 0, map[string]bool{}
	for _, c := range list {
		if c.expressions > 0 && !seen[c.route] {
			seen[c.route] = true
			sum += c.expressions
		}
	}
	return sum
}

// closed is the candidate with an error for an answer, in its place.
func (c candidate) closed() candidate {
	c.rule = c.rule.closed()
	return c
}

// unmatched answers what is left for no rule of a host that has no room for all.
func unmatched() ir.Rule {
	return ir.Rule{
		Name: "beyond limits", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}}, Fail: failure(string(store.HTTPRoute)),
	}
}
