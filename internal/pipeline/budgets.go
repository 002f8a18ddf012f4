package pipeline

import (
	"fmt"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// budgets finds what is beyond limits, which is seldom anything.
type budgets struct {
	repeats *store.TableOf[ir.ListenerID, limits.Tiers]
	byWild  *store.IndexOf[ir.ListenerID, route.Resolved]
	// listeners are those with routes whose rules are not repeated as they are, and hosts those that have no room for a route, or close one.
	listeners *store.Index[limits.Tiers]
	hosts     *store.Index[ir.VirtualHost]
}

// beyond is the one key of an index that has what is beyond a limit.
const beyond = "beyond"

func some(yes bool) []string {
	if yes {
		return []string{beyond}
	}
	return nil
}

func newBudgets(repeats *store.TableOf[ir.ListenerID, limits.Tiers], byWild *store.IndexOf[ir.ListenerID, route.Resolved]) *budgets {
	return &budgets{
		repeats: repeats, byWild: byWild,
		listeners: store.NewIndex(repeats.Table, "repeat budget.beyond", func(_ string, t limits.Tiers) []string { return some(t.Limit() > 0) }),
	}
}

// noticeBudgets tells the routes that are beyond a limit.
func (g *graph) noticeBudgets(all notices) {
	for _, key := range g.budgets.listeners.Keys(nil, beyond) {
		listener := ir.ParseListenerID(key)
		tiers, _ := g.budgets.repeats.Get(nil, listener)
		for _, name := range g.budgets.byWild.Keys(nil, listener) {
			if r, _ := g.routes.Get(nil, name); r.Repeated(tiers) != limits.Served {
				kind, own := store.SplitKindKey(name)
				all.add(subject{kind, own}, listener.Gateway, nil, fmt.Sprintf(
					"requests for narrower hostnames of listener %s that this route would answer are answered 500: the rules of routes with wide "+
						"hostnames would be repeated there more than %d times, and namespace %s has more than its share; "+
						"use fewer rules or a narrower hostname, or ask the operator for more (limit %s)",
					listener.Listener, tiers.Limit(), r.Name.Namespace, limits.NameRepeatedRules))
			}
		}
	}
	for _, key := range g.budgets.hosts.Keys(nil, beyond) {
		host, _ := g.hosts.Table.Get(nil, key)
		for _, name := range host.Beyond {
			kind, own := store.SplitKindKey(name)
			all.add(subject{kind, own}, host.Table.Gateway, nil, fmt.Sprintf(
				"requests of this route for hostname %s are answered 500: the routes of the hostname may have %d rules and regular expressions of "+
					"%d instructions together, and those of this namespace have more than its share; use fewer, or ask the operator for more "+
					"(limits hostRules and hostExpressions)", host.Domain, g.objects.Limits.HostRules, g.objects.Limits.HostExpressions))
		}
		for _, name := range host.ClosedBeside {
			kind, own := store.SplitKindKey(name)
			all.add(subject{kind, own}, host.Table.Gateway, nil, fmt.Sprintf(
				"requests of this route for hostname %s are answered 500: nothing is known of the rules of another route of this namespace for the "+
					"hostname, and some of these requests may be meant for it; correct that route", host.Domain))
		}
	}
}
