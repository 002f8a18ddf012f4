package simulation

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/store"
)

var errUnavailable = errors.New("the API server does not answer")

// perform does an action and checks what must hold after it. It returns false if the action is not possible.
func (s *simulation) perform(a Action) bool {
	did := s.user(a) || s.arrive(a) || s.message(a) || s.fault(a)
	if !did {
		return false
	}
	s.wait()
	s.check()
	return true
}

// user does what users and Kubernetes do.
func (s *simulation) user(a Action) bool {
	key := func(name string) string { return store.Key(namespace, name) }
	switch a.Verb {
	case putRoute, spoilRoute:
		s.putRoute(a.N, a.M, a.Verb == spoilRoute)
		if s.forgetful {
			s.dropSpoiled()
		}
	case deleteRoute:
		if s.api.route(a.N) == nil {
			return false
		}
		s.dropClaims(func(c claim) bool { return c.slot == a.N })
		s.api.remove(store.HTTPRoute, key(routeName(a.N)))
	case putSecret:
		if !s.api.has(store.Secret, key(secretName(a.N))) {
			s.move(a.N, httpsPort)
		}
		s.api.put(store.Secret, newSecret(a.N, a.M))
	case deleteSecret:
		if !s.api.has(store.Secret, key(secretName(a.N))) {
			return false
		}
		s.move(a.N, httpsPort)
		s.api.remove(store.Secret, key(secretName(a.N)))
	case setListeners:
		before := s.listeners(a.N)
		if before == a.M {
			return false
		}
		if (before^a.M)&1 != 0 {
			s.move(a.N, httpPort)
		}
		if (before^a.M)&2 != 0 {
			s.move(a.N, httpsPort)
		}
		s.api.put(store.Gateway, newGateway(a.N, a.M))
	case putService:
		if s.api.has(store.Service, key(serviceName(a.N, a.M))) {
			return false
		}
		s.api.put(store.Service, newService(a.N, a.M))
	case deleteService:
		if !s.api.has(store.Service, key(serviceName(a.N, a.M))) {
			return false
		}
		s.api.remove(store.Service, key(serviceName(a.N, a.M)))
	case putEndpoints:
		s.stamp++
		s.api.put(store.EndpointSlice, newEndpoints(a.N, a.M, s.stamp))
	case report:
		if slices.Equal(s.readyProxies(a.N), s.reported(a.N)) {
			return false
		}
		s.api.put(store.EndpointSlice, newFleet(a.N, s.readyProxies(a.N)))
	default:
		return false
	}
	return true
}

// listeners is the mask of the listeners that a Gateway has.
func (s *simulation) listeners(g int) int {
	mask := 0
	for _, l := range s.api.objects[ref{store.Gateway, store.Key(namespace, gateways[g])}].(*gwv1.Gateway).Spec.Listeners {
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
	return ready(s.api.objects[fleetRef(g)].(*discoveryv1.EndpointSlice))
}

func fleetRef(g int) ref { return ref{store.EndpointSlice, store.Key(namespace, "fleet-"+gateways[g])} }

// running is a replica that something can arrive at, nil if it is not there.
func (s *simulation) running(i int) *replica {
	if i < 0 || i >= len(s.replicas) || s.replicas[i] == nil || s.replicas[i].paused {
		return nil
	}
	return s.replicas[i]
}

// arrive has events arrive at a replica, and its calls at the API server.
func (s *simulation) arrive(a Action) bool {
	r := s.running(a.N)
	if r == nil {
		return false
	}
	queue := r.pending[a.Kind]
	switch a.Verb {
	case watch:
		if len(queue) == 0 {
			return false
		}
		r.pending[a.Kind] = queue[1:]
		r.last[a.Kind] = queue[0]
		r.observe(queue[0])
	case duplicate:
		e, known := r.last[a.Kind]
		if !known {
			return false
		}
		r.observe(e)
	case relist:
		if len(queue) < 2 {
			return false
		}
		r.pending[a.Kind] = nil
		newest := map[ref]event{}
		for _, e := range queue {
			e.statusOnly = e.statusOnly && newest[e.ref].statusOnly
			newest[e.ref] = e
		}
		for _, what := range slices.SortedFunc(maps.Keys(newest), func(a, b ref) int { return strings.Compare(a.key, b.key) }) {
			e := newest[what]
			e.statusOnly = false
			r.observe(e)
		}
		delete(r.last, a.Kind)
	case handle, fail:
		c := r.takeCall(true, false)
		if c == nil {
			return false
		}
		if a.Verb == fail {
			c.done <- errUnavailable
			return true
		}
		s.write(a.N, c)
	case assign:
		return r.applyEndpoints()
	case members:
		if !s.strangers[a.N] {
			return false
		}
		s.strangers[a.N] = false
		var others []string
		for _, other := range s.replicas {
			if other != nil && other != r {
				others = append(others, other.name)
			}
		}
		r.follower.Follow(others)
	default:
		return false
	}
	return true
}

// message has a message arrive.
func (s *simulation) message(a Action) bool {
	switch a.Verb {
	case request1, response1:
		if a.N >= len(s.proxies) || s.proxies[a.N].link == nil {
			return false
		}
		p := s.proxies[a.N]
		requests, responses := p.link.waiting()
		if a.Verb == request1 {
			if requests == 0 || p.link.end.paused {
				return false
			}
			s.logf("%s sends %s", p.name, describeRequest(p.link.requests[0]))
			p.link.deliverRequest()
			return true
		}
		if responses == 0 {
			return false
		}
		m := p.link.takeResponse()
		s.logf("%s receives %s", p.name, describe(m))
		s.isolated(p, m)
		p.envoy.Receive(m)
		return true
	case peerRequest1, peerResponse1:
		from, to := s.running(a.N), s.running(a.M)
		if from == nil || to == nil {
			return false
		}
		l := from.peerLink(to.name)
		if l == nil {
			return false
		}
		requests, responses := l.waiting()
		if a.Verb == peerRequest1 && requests > 0 {
			l.deliverRequest()
			return true
		}
		if a.Verb == peerResponse1 && responses > 0 {
			l.arrivedResponses <- l.takeResponse()
			return true
		}
	}
	return false
}

// fault does what should not happen, and what follows.
func (s *simulation) fault(a Action) bool {
	switch a.Verb {
	case cut, restartProxy, connect:
		return s.proxyFault(a)
	case notice:
		if a.N >= len(s.orphans) || s.orphans[a.N].end.paused {
			return false
		}
		s.orphans[a.N].cancel()
		s.orphans = slices.Delete(s.orphans, a.N, a.N+1)
	case cutPeer:
		from, to := s.running(a.N), s.running(a.M)
		if from == nil || to == nil || from.peerLink(to.name) == nil {
			return false
		}
		from.peerLink(to.name).cancel()
	case pause:
		if s.running(a.N) == nil {
			return false
		}
		s.replicas[a.N].paused = true
	case resume:
		if s.replicas[a.N] == nil || !s.replicas[a.N].paused {
			return false
		}
		s.resume(s.replicas[a.N])
	case crash:
		if s.replicas[a.N] == nil {
			return false
		}
		s.crash(a.N)
	case startReplica:
		if s.replicas[a.N] != nil {
			return false
		}
		s.startReplica(a.N)
	case elect:
		if a.N == s.leader || a.N >= 0 && s.running(a.N) == nil {
			return false
		}
		s.elect(a.N)
	case sleep:
		s.sleep(time.Duration(a.N) * time.Millisecond)
	case settle:
		s.settle()
	default:
		return false
	}
	return true
}

// resume has a replica go on. That its lease is lost is the first thing it learns.
func (s *simulation) resume(r *replica) {
	r.paused = false
	if r.lost {
		r.lost = false
		r.follow()
		s.wait()
	}
}

func (s *simulation) proxyFault(a Action) bool {
	if a.N >= len(s.proxies) {
		return false
	}
	p := s.proxies[a.N]
	switch a.Verb {
	case cut:
		if p.link == nil {
			return false
		}
		s.leave(p)
	case restartProxy:
		s.dropClaims(func(c claim) bool { return c.proxy == a.N })
		s.restart(p)
	case connect:
		if p.link != nil || a.M >= len(s.replicas) || s.running(a.M) == nil {
			return false
		}
		s.connect(p, s.replicas[a.M])
	}
	return true
}

// describe names what is in a response.
func describe(m *response) string {
	var names []string
	for _, r := range m.GetResources() {
		names = append(names, r.GetName())
	}
	for _, name := range m.GetRemovedResources() {
		names = append(names, "-"+name)
	}
	slices.Sort(names)
	return short(m.GetTypeUrl()) + " " + strings.Join(names, " ")
}

func describeRequest(m *request) string {
	text := short(m.GetTypeUrl())
	switch {
	case m.GetErrorDetail() != nil:
		text += " NACK " + m.GetResponseNonce()
	case m.GetResponseNonce() != "":
		text += " ACK " + m.GetResponseNonce()
	}
	for _, name := range m.GetResourceNamesSubscribe() {
		text += " +" + name
	}
	for _, name := range m.GetResourceNamesUnsubscribe() {
		text += " -" + name
	}
	return text
}

// short is the name of a type.
func short(typeURL string) string { return typeURL[strings.LastIndexByte(typeURL, '.')+1:] }
