package simulation

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gatewright/gatewright/internal/store"
)

// kinds are those of which events have not arrived at a replica.
func kinds(r *replica) []store.Kind {
	var some []store.Kind
	for _, kind := range slices.Sorted(maps.Keys(r.pending)) {
		if len(r.pending[kind]) > 0 {
			some = append(some, kind)
		}
	}
	return some
}

// configOf is the world of a seed.
func configOf(random *rand.Rand) Config {
	c := Config{Replicas: 2 + random.IntN(2), Gateways: 1 + random.IntN(4)/3, Proxies: 1 + random.IntN(2), Listeners: 1 + random.IntN(3)}
	for range c.Gateways * c.Proxies {
		c.Anchored = append(c.Anchored, random.IntN(2) == 0)
	}
	for i, sl := range slots {
		if sl.gateway < c.Gateways && random.IntN(2) == 0 {
			c.Routes = append(c.Routes, i)
		}
	}
	return c
}

// weighted is an action and how likely it is.
type weighted struct {
	Action
	weight int
}

// sleeps are in milliseconds: shorter and longer than every timer of Envoy, and as long as outages were.
var sleeps = []int{50, 1000, 7000, 16000, 61000, 85000, 130000, 200000}

// choose picks what happens next. Deliveries are the most likely; which of them is open.
func (s *simulation) choose(random *rand.Rand) Action {
	var options []weighted
	add := func(weight int, a Action) { options = append(options, weighted{a, weight}) }
	s.offerDeliveries(add)
	s.offerChanges(random, add)
	s.offerFaults(random, add)
	total := 0
	for _, o := range options {
		total += o.weight
	}
	n := random.IntN(total)
	for _, o := range options {
		if n -= o.weight; n < 0 {
			return o.Action
		}
	}
	panic("unreachable")
}

func (s *simulation) offerDeliveries(add func(int, Action)) {
	for i, p := range s.proxies {
		if p.link == nil {
			for j := range s.replicas {
				if s.running(j) != nil {
					add(20, Action{Verb: connect, N: i, M: j})
				}
			}
			continue
		}
		requests, responses := p.link.waiting()
		if requests > 0 && !p.link.end.paused {
			add(60, Action{Verb: request1, N: i})
		}
		if responses > 0 {
			add(60, Action{Verb: response1, N: i})
		}
	}
	for i := range s.replicas {
		if r := s.running(i); r != nil {
			s.offerArrivals(i, r, add)
			s.offerPeers(i, r, add)
		}
	}
	for g := range s.Gateways {
		if !slices.Equal(s.readyProxies(g), s.reported(g)) {
			add(40, Action{Verb: report, N: g})
		}
	}
}

func (s *simulation) offerArrivals(i int, r *replica, add func(int, Action)) {
	for _, kind := range kinds(r) {
		add(40, Action{Verb: watch, N: i, Kind: kind})
		if len(r.pending[kind]) > 1 {
			add(2, Action{Verb: relist, N: i, Kind: kind})
			add(2, Action{Verb: relist, N: i, M: together, Kind: kind})
		}
	}
	if r.takeCall(false, false) != nil {
		add(40, Action{Verb: handle, N: i})
		add(2, Action{Verb: fail, N: i})
	}
	if len(r.assignments) > 0 {
		add(40, Action{Verb: assign, N: i})
	}
	if s.strangers[i] {
		add(40, Action{Verb: members, N: i})
	}
}

func (s *simulation) offerPeers(i int, r *replica, add func(int, Action)) {
	for j := range s.replicas {
		other := s.running(j)
		if other == nil || i == j || r.peerLink(other.name) == nil {
			continue
		}
		requests, responses := r.peerLink(other.name).waiting()
		if requests > 0 {
			add(40, Action{Verb: peerRequest1, N: i, M: j})
		}
		if responses > 0 {
			add(40, Action{Verb: peerResponse1, N: i, M: j})
		}
		add(1, Action{Verb: cutPeer, N: i, M: j})
	}
}

func (s *simulation) offerChanges(random *rand.Rand, add func(int, Action)) {
	for i, sl := range slots {
		if sl.gateway >= s.Gateways {
			continue
		}
		if s.api.route(i) == nil {
			add(4, Action{Verb: putRoute, N: i, M: random.IntN(services)})
			continue
		}
		add(2, Action{Verb: putRoute, N: i, M: random.IntN(services)})
		add(4, Action{Verb: deleteRoute, N: i})
		if s.NACKs {
			add(1, Action{Verb: spoilRoute, N: i, M: random.IntN(services)})
		}
	}
	for g := range s.Gateways {
		if s.hasSecret(g) {
			add(3, Action{Verb: deleteSecret, N: g})
			add(1, Action{Verb: putSecret, N: g, M: random.IntN(2)})
		} else {
			add(4, Action{Verb: putSecret, N: g, M: random.IntN(2)})
		}
		add(2, Action{Verb: setListeners, N: g, M: 1 + random.IntN(3)})
		n := random.IntN(services)
		if s.hasService(g, n) {
			add(1, Action{Verb: deleteService, N: g, M: n})
		} else {
			add(4, Action{Verb: putService, N: g, M: n})
		}
		add(1, Action{Verb: putEndpoints, N: g, M: n})
	}
}

func (s *simulation) offerFaults(random *rand.Rand, add func(int, Action)) {
	for i, p := range s.proxies {
		if p.link != nil {
			add(2, Action{Verb: cut, N: i})
		}
		add(1, Action{Verb: restartProxy, N: i})
	}
	for i := range s.orphans {
		add(10, Action{Verb: notice, N: i})
	}
	for i, r := range s.replicas {
		switch {
		case r == nil:
			add(10, Action{Verb: startReplica, N: i})
		case r.paused:
			add(10, Action{Verb: resume, N: i})
		default:
			add(1, Action{Verb: pause, N: i})
			for _, kind := range slices.Sorted(maps.Keys(r.last)) {
				add(1, Action{Verb: duplicate, N: i, Kind: kind})
			}
		}
		if r != nil {
			add(1, Action{Verb: crash, N: i})
		}
		if s.running(i) != nil && s.leader != i {
			weight := 1
			if s.leader < 0 {
				weight = 20
			}
			add(weight, Action{Verb: elect, N: i})
		}
	}
	add(6, Action{Verb: sleep, N: sleeps[random.IntN(len(sleeps))]})
	add(3, Action{Verb: settle})
}
