package pipeline

import "github.com/gatewright/gatewright/internal/ir"

// markExtensions notes on the chains of a port that requests may pass code of users. It depends on the operator alone: to add or remove
// the filters would drain connections.
func (g *graph) markExtensions(port ir.Port) ir.Port {
	for i := range port.Chains {
		port.Chains[i].Extensions = g.objects.EnabledExtensions.Any() && !port.Chains[i].RouteTable.IsZero()
	}
	return port
}
