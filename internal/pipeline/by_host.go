package pipeline

import "github.com/gatewright/gatewright/internal/ir"

// markByHost notes on the chains of a port that each host is looked up by itself, so that adding one costs the same however many there are.
// It depends on nothing that routes can change: the filter chain would be replaced, and every connection on it closed when it has drained.
// Where requests pass filters before a route is chosen, they need to find one at once. Files are replaced as a whole, so that there is
// nothing to gain from scopes.
func markByHost(delivery ir.Delivery, port ir.Port) ir.Port {
	if delivery == ir.Files {
		return port
	}
	for i := range port.Chains {
		chain := &port.Chains[i]
		chain.ByHost = chain.RouteTable != "" && chain.Filters == 0
	}
	return port
}
