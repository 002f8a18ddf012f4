package simulation

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// What users and Kubernetes do. Each change ends the claims that it makes void.

func keyOf(name string) string { return store.Key(namespace, name) }

func (s *simulation) setRoute(a Action) bool {
	s.putRoute(a.N, a.M, a.Verb == spoilRoute)
	if s.tick++; s.replaced[a.N] == 0 {
		s.replaced[a.N] = s.tick
	}
	s.dropForgotten()
	return true
}

func (s *simulation) removeRoute(a Action) bool {
	if s.api.route(a.N) == nil {
		return false
	}
	s.dropClaims(func(c claim) bool { return c.slot == a.N })
	s.api.remove(store.HTTPRoute, keyOf(routeName(a.N)))
	return true
}

func (s *simulation) setSecret(a Action) bool {
	if !s.hasSecret(a.N) {
		s.move(a.N, httpsPort)
	}
	s.api.put(store.Secret, newSecret(a.N, a.M))
	return true
}

func (s *simulation) removeSecret(a Action) bool {
	if !s.hasSecret(a.N) {
		return false
	}
	s.move(a.N, httpsPort)
	s.api.remove(store.Secret, keyOf(secretName(a.N)))
	return true
}

func (s *simulation) setGateway(a Action) bool {
	changed := s.listeners(a.N) ^ a.M
	if changed == 0 {
		return false
	}
	if changed&1 != 0 {
		s.move(a.N, httpPort)
	}
	if changed&2 != 0 {
		s.move(a.N, httpsPort)
	}
	s.api.put(store.Gateway, newGateway(a.N, a.M))
	return true
}

func (s *simulation) setService(a Action) bool {
	if s.hasService(a.N, a.M) {
		return false
	}
	s.api.put(store.Service, newService(a.N, a.M))
	return true
}

func (s *simulation) removeService(a Action) bool {
	if !s.hasService(a.N, a.M) {
		return false
	}
	s.api.remove(store.Service, keyOf(serviceName(a.N, a.M)))
	return true
}

func (s *simulation) setEndpoints(a Action) bool {
	s.stamp++
	s.api.put(store.EndpointSlice, newEndpoints(a.N, a.M, s.stamp))
	return true
}

// reportReady has Kubernetes say which proxies are ready.
func (s *simulation) reportReady(a Action) bool {
	if slices.Equal(s.readyProxies(a.N), s.reported(a.N)) {
		return false
	}
	s.api.put(store.EndpointSlice, newFleet(a.N, s.readyProxies(a.N)))
	return true
}

func (s *simulation) hasSecret(g int) bool { return s.api.has(store.Secret, keyOf(secretName(g))) }

func (s *simulation) hasService(g, n int) bool {
	return s.api.has(store.Service, keyOf(serviceName(g, n)))
}

// listeners is the mask of the listeners that a Gateway has.
func (s *simulation) listeners(g int) int {
	mask := 0
	for _, l := range as[*gwv1.Gateway](s.api.objects[ref{store.Gateway, keyOf(gateways[g])}]).Spec.Listeners {
		if l.Port == httpPort {
			mask |= 1
		} else {
			mask |= 2
		}
	}
	return mask
}

// move notes that a listener comes or goes.
func (s *simulation) move(g, port int) {
	s.moved[[2]int{g, port}] = true
	s.dropClaims(func(c claim) bool { return c.port == port && slots[c.slot].gateway == g })
}

// readyProxies are those of a Gateway whose Envoy accepts connections, and reported those that Kubernetes calls so.
func (s *simulation) readyProxies(g int) []string {
	var names []string
	for _, p := range s.proxies {
		if p.gateway == g && p.envoy.Started() {
			names = append(names, p.name)
		}
	}
	return names
}

func (s *simulation) reported(g int) []string {
	return ready(as[*discoveryv1.EndpointSlice](s.api.objects[fleetRef(g)]))
}

func fleetRef(g int) ref { return ref{store.EndpointSlice, keyOf("fleet-" + gateways[g])} }

// as is a value of a type that it is known to have.
func as[T any](value any) T {
	known, ok := value.(T)
	if !ok {
		panic("a value has another type than it must")
	}
	return known
}
