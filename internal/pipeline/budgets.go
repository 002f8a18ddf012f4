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
	repeats *store.Table[limits.Cutoff]
	byWild  *store.Index[route.Resolved]
	// listeners are those with routes whose rules are not repeated, and hosts those that have no room for a route.
	listeners *store.Index[limits.Cutoff]
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

func newBudgets(repeats *store.Table[limits.Cutoff], byWild *store.Index[route.Resolved]) *budgets {
	return &budgets{
		repeats: repeats, byWild: byWild,
		listeners: store.NewIndex(repeats, "repeat budget.beyond", func(_ string, c limits.Cutoff) []string { return some(c.Limit > 0) }),
	}
}

// noticeBudgets tells the routes that are beyond a limit.
func (g *graph) noticeBudgets(all notices) {
	for _, key := range g.budgets.listeners.Keys(nil, beyond) {
		gateway, listener := splitKey(key)
		cutoff, _ := g.budgets.repeats.Get(nil, key)
		for _, name := range g.budgets.byWild.Keys(nil, key) {
			if r, _ := g.routes.Get(nil, name); r.Excluded(cutoff) {
				kind, own := splitRouteKey(name)
				all.add(subject{kind, own}, gateway, nil, fmt.Sprintf(
					"narrower hostnames of listener %s do not fall through to this route: the rules of routes with wide hostnames would be repeated there more than %d times; "+
						"use fewer rules or a narrower hostname, or ask the operator for more (limit repeatedRules)", listener, cutoff.Limit))
			}
		}
	}
	for _, key := range g.budgets.hosts.Keys(nil, beyond) {
		table, domain := splitKey(key)
		host, _ := g.hosts.Get(nil, key)
		for _, name := range host.Beyond {
			kind, own := splitRouteKey(name)
			all.add(subject{kind, own}, route.GatewayOf(table), nil, fmt.Sprintf(
				"hostname %s has no room for this route: its routes may have %d rules and regular expressions of %d instructions together; use fewer, or ask the operator for more "+
					"(limits hostRules and hostExpressions)", domain, g.objects.Limits.HostRules, g.objects.Limits.HostExpressions))
		}
	}
}
