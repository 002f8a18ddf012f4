package pipeline

import "github.com/gatewright/gatewright/internal/ir"

// markByHost notes on the chains of a port where each host is looked up by itself.
func markByHost(delivery ir.Delivery, port ir.Port) ir.Port {
	for i := range port.Chains {
		port.Chains[i].ByHost = delivery.ByHost(port.Chains[i])
	}
	return port
}
