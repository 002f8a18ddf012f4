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
	// elsewhere says that it is in another cluster than those that come first.
	elsewhere bool
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
// It takes the addresses of one family: the one the Service prefers, or the other one if only that has endpoints. Each pod of a dual-stack
// Service is in slices of both families. With both it would get twice its share, and it may listen on one of them.
func choose(all []*discoveryv1.EndpointSlice, wantedPort slicePortName, families []corev1.IPFamily) []target {
	ready, leaving := chooseFamily(all, wantedPort, families)
	if len(ready) > 0 {
		return ready
	}
	return leaving
}

// chooseFamily finds the targets of one family, either ready ones or those that still serve while they terminate.
func chooseFamily(all []*discoveryv1.EndpointSlice, wantedPort slicePortName, families []corev1.IPFamily) (ready, leaving []target) {
	order := []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	// Both types spell their values IPv4 and IPv6.
	if len(families) > 0 && families[0] == corev1.IPv6Protocol {
		slices.Reverse(order)
	}
	// The addresses of FQDN slices are names, which EDS does not resolve.
	for _, family := range order {
		ready, last := serving(all, wantedPort, family)
		if len(ready) > 0 {
			return ready, nil
		}
		if len(leaving) == 0 {
			leaving = last
		}
	}
	return nil, leaving
}

// serving are the targets of one family that are ready, and those that still serve while they terminate.
func serving(all []*discoveryv1.EndpointSlice, wantedPort slicePortName, family discoveryv1.AddressType) (ready, leaving []target) {
	for _, slice := range all {
		port, ok := slicePort(slice, wantedPort)
		if !ok || slice.AddressType != family {
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
	return distinct(ready), distinct(leaving)
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

// distinct sorts by cluster, zone, address and port and keeps each socket once: an endpoint that moves between slices is in both for a
// while.
func distinct(targets []target) []target {
	slices.SortFunc(targets, func(a, b target) int {
		if a.elsewhere != b.elsewhere {
			if b.elsewhere {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.zone, b.zone), cmp.Compare(a.address, b.address), cmp.Compare(a.port, b.port))
	})
	seen := make(map[socket]struct{}, len(targets))
	return slices.DeleteFunc(targets, func(t target) bool {
		_, twice := seen[t.socket]
		seen[t.socket] = struct{}{}
		return twice
	})
}
