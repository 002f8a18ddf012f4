package pipeline

import (
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
)

// hostTables lists the stage that knows which route tables have virtual hosts without a wildcard. Listeners look these up one by one, so that adding one costs
// the same however many there are. A table with nothing but wildcards would only be slowed down by that.
func (g *graph) hostTables() *store.Table[bool] {
	byTable := store.NewIndex(g.hosts, "virtualHost.byTable", func(_ string, host ir.VirtualHost) []string {
		if host.Table == "" || strings.HasPrefix(host.Domain, "*") {
			return nil
		}
		return []string{host.Table}
	})
	return memo.Derive(g.memo, stageByHost, from(byTable), deepEqual[bool], func(*store.View, string) bool { return true })
}

// markByHost notes it on the chains of a port. Where requests pass filters before a route is chosen, they need to find one at once. Files are replaced as a whole, so
// that there is nothing to gain from scopes.
func markByHost(v *store.View, tables *store.Table[bool], delivery ir.Delivery, port ir.Port) ir.Port {
	if delivery == ir.Files {
		return port
	}
	for i := range port.Chains {
		if chain := &port.Chains[i]; chain.RouteTable != "" && chain.Filters == 0 {
			chain.ByHost, _ = tables.Get(v, chain.RouteTable)
		}
	}
	return port
}
