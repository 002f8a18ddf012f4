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
	// wildcards has the tables whose hostnames with a wildcard take too much, in tables, and byWildTable has the routes of each.
	wildcards   *store.TableOf[ir.TableID, limits.Tiers]
	tables      *store.Index[limits.Tiers]
	byWildTable *store.IndexOf[ir.TableID, route.Resolved]
}

// beyond is the one key of an index that has what is beyond a limit.
const beyond = "beyond"

func some(yes bool) []string {
	if yes {
		return []string{beyond}
	}
	return nil
}

func newBudgets(
	repeats *store.TableOf[ir.ListenerID, limits.Tiers], byWild *store.IndexOf[ir.ListenerID, route.Resolved],
	wildcards *store.TableOf[ir.TableID, limits.Tiers], byWildTable *store.IndexOf[ir.TableID, route.Resolved],
) *budgets {
	exceeded := func(_ string, t limits.Tiers) []string { return some(t.Limit() > 0) }
	return &budgets{
		repeats: repeats, byWild: byWild, listeners: store.NewIndex(repeats.Table, "repeat budget.beyond", exceeded),
		wildcards: wildcards, byWildTable: byWildTable, tables: store.NewIndex(wildcards.Table, "wildcard budget.beyond", exceeded),
	}
}

// noticeBudgets tells the routes that are beyond a limit.
func (g *graph) noticeBudgets(all notices) {
	g.noticeRepeats(all)
	g.noticeWildcards(all)
	g.noticeListeners(all)
	l := &g.objects.Limits
	for _, key := range g.budgets.hosts.Keys(nil, beyond) {
		host, _ := g.hosts.Table.Get(nil, key)
		for _, name := range host.Beyond {
			r, _ := g.routes.Get(nil, name)
			kind, own := store.SplitKindKey(name)
			all.add(subject{kind, own}, host.Table.Gateway, nil, fmt.Sprintf(
				"requests of this route for hostname %s are answered 500: the routes of the hostname may have %d rules, regular expressions of "+
					"%d instructions and %d bytes together, and those of this namespace have more than its share; this one has %d rules of %d "+
					"bytes; use fewer, or ask the operator for more (limits hostRules, hostExpressions and hostBytes)",
				host.Domain, l.HostRules, l.HostExpressions, l.HostBytes, len(r.Rules), r.Bytes()))
		}
		for _, name := range host.ClosedBeside {
			kind, own := store.SplitKindKey(name)
			all.add(subject{kind, own}, host.Table.Gateway, nil, fmt.Sprintf(
				"requests of this route for hostname %s are answered 500: nothing is known of the rules of another route of this namespace for the "+
					"hostname, and some of these requests may be meant for it; correct that route", host.Domain))
		}
	}
}

// noticeRepeats tells the routes whose rules are not repeated as they are.
func (g *graph) noticeRepeats(all notices) {
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
}

// noticeWildcards tells the routes that hostnames with a wildcard have no room for.
func (g *graph) noticeWildcards(all notices) {
	for _, key := range g.budgets.tables.Keys(nil, beyond) {
		table := ir.ParseTableID(key)
		tiers, _ := g.budgets.wildcards.Get(nil, table)
		for _, name := range g.budgets.byWildTable.Keys(nil, table) {
			if r, _ := g.routes.Get(nil, name); r.WildcardPlace(tiers) != limits.Served {
				kind, own := store.SplitKindKey(name)
				all.add(subject{kind, own}, table.Gateway, nil, fmt.Sprintf(
					"requests of this route for hostnames with a wildcard are answered 500: the routes of all these hostnames of port %d may have %d "+
						"bytes together, and namespace %s has more than its share; this one has %d rules of %d bytes, which count for each such "+
						"hostname; use fewer rules, shorter values or exact hostnames, or ask the operator for more (limit %s)",
					table.Port, tiers.Limit(), r.Name.Namespace, len(r.Rules), r.Bytes(), limits.NameWildcardBytes))
			}
		}
	}
}
