package ir

// RuleGuard is what may keep a request of a rule from its backend.
//
// A request that a user meant to guard is never served by something wider: not by a rule, a host or a listener that takes its requests
// because the one with the guard is broken, beyond a limit, rejected by proxies or cannot be read, and not by an earlier version without
// the guard. Whatever cannot be served as it is answers an error in its place.
type RuleGuard struct {
	// Policy is the protection by settings of policies and filters, nil for none.
	Policy *RequestPolicy
	// Extensions are code of users, nil for none.
	Extensions *Extensions
	// Closed says that no request passes.
	Closed bool
}

// Guard is that of the rule, nil for none.
func (r *Rule) Guard() *RuleGuard {
	g := RuleGuard{Closed: r.Fail != nil || r.Policy != nil && r.Policy.FailsClosed()}
	if !g.Closed {
		g.Policy, g.Extensions = r.Policy.Protection(), r.Extensions
	}
	if g.Policy == nil && len(g.Extensions.All()) == 0 && !g.Closed {
		return nil
	}
	return &g
}
