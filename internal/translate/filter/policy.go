package filter

import (
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// run is a filter that a composite filter runs for the requests of a route.
type run struct {
	// name is that of the filter.
	name   string
	config proto.Message
}

// runsByPolicy is a composite filter of that name, which runs what the policy of a route asks for, and does nothing for other routes. Each
// route has its own configuration, and a rule that answers an error has none: whatever proxies reject of it, they accept the rule when it
// is closed.
func runsByPolicy(name string, asked func(*ir.RequestPolicy) []run) Filter {
	return Filter{
		Name: name, OnDemand: true,
		Listener: everywhere(composite),
		Route: func(host *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
			policy := host.PolicyOf(rule)
			if rule.Fail != nil || policy.FailsClosed() {
				return nil, false
			}
			runs := asked(policy)
			if len(runs) == 0 {
				return nil, false
			}
			return runsAll(runs), true
		},
	}
}

// runsOnce is [runsByPolicy] for a filter that talks to a server. What the rules of a virtual host share is there once.
func runsOnce(name string, asked func(*ir.RequestPolicy) []run) Filter {
	f := runsByPolicy(name, asked)
	route := f.Route
	f.VirtualHost = func(host *ir.VirtualHost) (proto.Message, bool) {
		if host.Policy == nil || host.Policy.FailsClosed() {
			return nil, false
		}
		shared := asked(host.Policy)
		if len(shared) == 0 {
			return nil, false
		}
		return runsAll(shared), true
	}
	f.Route = func(host *ir.VirtualHost, rule *ir.Rule) (proto.Message, bool) {
		shared, _ := f.VirtualHost(host)
		if rule.Policy == nil && shared != nil {
			return nil, false
		}
		own, ok := route(host, rule)
		if ok || shared == nil {
			return own, ok
		}
		// To disable the filter is not enough: a request whose host is found late has it already.
		return runsNothing, true
	}
	return f
}

// allRequired is [runsByPolicy] for a filter that asks for credentials. Where one of several is enough, [AnyAuth] runs it.
func allRequired(name string, asked func(*ir.RequestPolicy) []run) Filter {
	return runsByPolicy(name, unlessAny(asked))
}

func unlessAny(asked func(*ir.RequestPolicy) []run) func(*ir.RequestPolicy) []run {
	return func(policy *ir.RequestPolicy) []run {
		if policy.AnyAuthentication() {
			return nil
		}
		return asked(policy)
	}
}
