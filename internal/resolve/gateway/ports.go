package gateway

import (
	"cmp"
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// sparePlaces is how many filters an HTTP listener of a ListenerSet can have and lose without a change of the chain that all HTTP listeners
// of the port share, which drains the connections of all. A place costs each request of the port, so there are few.
const sparePlaces = 2

// sparePlacesOf are the places for filters in the HTTP chains of a Gateway that may be without use: those for other namespaces that add
// listeners.
func sparePlacesOf(gw *gwv1.Gateway) int {
	switch allowedFrom(gw) {
	case gwv1.NamespacesFromAll, gwv1.NamespacesFromSelector:
		return sparePlaces
	default:
		return 0
	}
}

// ports groups the listeners that have a part of a port by socket. Where whole connections are forwarded, a chain has an empty
// [ir.Stream] that routes are still to fill in. Chains that several listeners share have at least so many places for filters.
func ports(listeners []Listener, places int) []ir.Port {
	byID := map[string]*ir.Port{}
	for _, l := range listeners {
		if !l.onPort() {
			continue
		}
		port := &ir.Port{Number: l.Port, Protocol: l.Protocol}
		if found, ok := byID[port.ID()]; ok {
			port = found
		}
		byID[port.ID()] = port
		if l.Protocol == ir.HTTPS {
			port.Protocol = ir.HTTPS
		}
		if l.Protocol != ir.HTTP || len(port.Chains) == 0 {
			port.Chains = append(port.Chains, chain(l))
		}
		if last := &port.Chains[len(port.Chains)-1]; !last.RouteTable.IsZero() {
			last.Filters = max(last.Filters, len(l.Filters))
			if l.Protocol == ir.HTTP {
				last.Filters = max(last.Filters, places)
			}
		}
	}
	sorted := make([]ir.Port, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		port := byID[id]
		slices.SortFunc(port.Chains, func(a, b ir.Chain) int { return cmp.Compare(a.Name, b.Name) })
		sorted = append(sorted, *port)
	}
	slices.SortStableFunc(sorted, func(a, b ir.Port) int { return cmp.Compare(a.Number, b.Number) })
	return sorted
}

// chain is what happens to the connections of a listener. One that has to end TLS and has no certificate keeps its server name and
// closes them, so that no wider listener gets what is not its own. So does a closed one that cannot answer requests.
func chain(l Listener) ir.Chain {
	c := ir.Chain{Name: l.ID}
	if l.Protocol.ChoosesByName() {
		c.ServerName, c.Certificates, c.Clients = l.Hostname, l.Certificates, l.Clients
	}
	switch {
	case l.Terminates && len(l.Certificates) == 0, l.Closed && !l.answers():
	case l.Protocol == ir.HTTP:
		c.Name, c.RouteTable = "http", l.Table
	case l.Protocol == ir.HTTPS:
		c.RouteTable = l.Table
	default:
		c.Stream = &ir.Stream{}
	}
	return c
}

// Needs is what proxies need for the Gateway's listeners: the backends that filters ask and logs go to, key pairs and bundles.
func (r Resolved) Needs() *ir.Needs {
	needs := &ir.Needs{}
	for _, l := range r.Listeners {
		for i := range l.Filters {
			if l.Attachable {
				needs.Add(&l.Filters[i])
			}
		}
	}
	for i := range r.Gateway.Ports {
		needs.Add(&r.Gateway.Ports[i])
	}
	return needs
}

// Certificates lists the key pairs that proxies present to clients and to backends.
func (r Resolved) Certificates() []ir.GatewaySecret {
	names := r.Needs().Certificates()
	if r.ClientCertificate != "" && r.Serves {
		names = append(names, r.ClientCertificate)
	}
	return r.secrets(names)
}

// Authorities lists the bundles that client certificates are validated with.
func (r Resolved) Authorities() []ir.GatewaySecret { return r.secrets(r.Needs().Authorities()) }

// secrets are the secrets of these names that the Gateway uses, each once.
func (r Resolved) secrets(names []string) []ir.GatewaySecret {
	slices.Sort(names)
	gateway := r.Gateway.Name.String()
	var list []ir.GatewaySecret
	for _, name := range slices.Compact(names) {
		list = append(list, ir.GatewaySecret{Gateway: gateway, Secret: name})
	}
	return list
}
