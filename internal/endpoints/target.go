package endpoints

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// socket is what a proxy connects to.
type socket struct {
	address string
	port    uint32
}

// target is a socket and where it is.
type target struct {
	socket
	zone, node string
	// hints says which zones and nodes it is for, nil if it says nothing.
	hints *discoveryv1.EndpointHints
}

// slicePortName is how a slice names a port of its Service.
type slicePortName struct {
	name      string
	transport corev1.Protocol
}

// choose picks the targets that get requests, sorted by zone and address. As kube-proxy does, it takes the ready ones, and where there
// are none those that still serve while they terminate: a rollout that replaces the last pod must not fail requests.
//
// Of a dual-stack Service it takes the addresses of the family the Service prefers, if any serve: each pod is in slices of both
// families, and may listen on one.
func choose(all []*discoveryv1.EndpointSlice, wantedPort slicePortName, families []corev1.IPFamily) []target {
	if len(families) > 0 {
		// Both types spell their values IPv4 and IPv6.
		preferred := discoveryv1.AddressType(families[0])
		ofFamily := func(s *discoveryv1.EndpointSlice) bool { return s.AddressType == preferred }
		if found := serving(all, wantedPort, ofFamily); len(found) > 0 {
			return found
		}
	}
	return serving(all, wantedPort, func(s *discoveryv1.EndpointSlice) bool {
		// The addresses of FQDN slices are names, which EDS does not resolve.
		return s.AddressType == discoveryv1.AddressTypeIPv4 || s.AddressType == discoveryv1.AddressTypeIPv6
	})
}

func serving(all []*discoveryv1.EndpointSlice, wantedPort slicePortName, wanted func(*discoveryv1.EndpointSlice) bool) []target {
	var ready, leaving []target
	for _, slice := range all {
		port, ok := slicePort(slice, wantedPort)
		if !ok || !wanted(slice) {
			continue
		}
		for i := range slice.Endpoints {
			endpoint := &slice.Endpoints[i]
			switch {
			case len(endpoint.Addresses) == 0:
			case isReady(endpoint.Conditions):
				ready = append(ready, newTarget(endpoint, port))
			case isLeaving(endpoint.Conditions):
				leaving = append(leaving, newTarget(endpoint, port))
			}
		}
	}
	if len(ready) > 0 {
		return distinct(ready)
	}
	return distinct(leaving)
}

// newTarget uses the first address: discovery.k8s.io/v1 gives the others no meaning.
func newTarget(endpoint *discoveryv1.Endpoint, port uint32) target {
	t := target{socket: socket{address: endpoint.Addresses[0], port: port}}
	if endpoint.Zone != nil {
		t.zone = *endpoint.Zone
	}
	if endpoint.NodeName != nil {
		t.node = *endpoint.NodeName
	}
	t.hints = endpoint.Hints
	return t
}

// slicePort finds the number behind a Service port's name. Names are how slices and Services agree; numbers differ with targetPort,
// even between the slices of one Service.
func slicePort(slice *discoveryv1.EndpointSlice, wanted slicePortName) (uint32, bool) {
	for _, port := range slice.Ports {
		transport := corev1.ProtocolTCP
		if port.Protocol != nil {
			transport = *port.Protocol
		}
		if port.Port == nil || !sameTransport(transport, wanted.transport) {
			continue
		}
		if (port.Name == nil && wanted.name == "") || (port.Name != nil && *port.Name == wanted.name) {
			return uint32(*port.Port), true //nolint:gosec // a port number, validated by the API server
		}
	}
	return 0, false
}

// isReady: discovery.k8s.io/v1 reads no answer as ready.
func isReady(c discoveryv1.EndpointConditions) bool { return c.Ready == nil || *c.Ready }

func isLeaving(c discoveryv1.EndpointConditions) bool {
	return c.Serving != nil && *c.Serving && c.Terminating != nil && *c.Terminating
}

// distinct sorts by zone, address and port and keeps each socket once: an endpoint that moves between slices is in both for a while.
func distinct(targets []target) []target {
	slices.SortFunc(targets, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.zone, b.zone), cmp.Compare(a.address, b.address), cmp.Compare(a.port, b.port))
	})
	seen := make(map[socket]struct{}, len(targets))
	return slices.DeleteFunc(targets, func(t target) bool {
		_, twice := seen[t.socket]
		seen[t.socket] = struct{}{}
		return twice
	})
}
