package simulation

import (
	"slices"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// maxDeliveries is more than ever arrives before nothing is left.
	maxDeliveries = 20000
)

// pauses are those after which there must be nothing left to do: longer than what retries, and than every timer of Envoy.
var pauses = []time.Duration{200 * time.Millisecond, 1100 * time.Millisecond, 16 * time.Second, 61 * time.Second}

// settle ends all faults, lets everything arrive, and checks what must hold at rest.
func (s *simulation) settle() {
	deliveries := 0
	for idle := 0; s.problem == ""; {
		progress := false
		for _, a := range s.pendingActions() {
			if s.problem == "" && s.perform(a) {
				progress = true
				deliveries++
			}
		}
		if deliveries > maxDeliveries {
			s.violate("(d) there is no rest")
			return
		}
		if progress {
			idle = 0
			continue
		}
		if idle == len(pauses) {
			break
		}
		s.sleep(pauses[idle])
		idle++
	}
	if s.problem == "" {
		s.checkRest()
	}
}

// pendingActions are those that bring everything to where it belongs.
func (s *simulation) pendingActions() []Action {
	var all []Action
	for i, r := range s.replicas {
		if r == nil {
			all = append(all, Action{Verb: startReplica, N: i})
			continue
		}
		all = append(all, Action{Verb: resume, N: i}, Action{Verb: members, N: i})
		if s.leader < 0 {
			all = append(all, Action{Verb: elect, N: i})
		}
	}
	for range s.orphans {
		all = append(all, Action{Verb: notice})
	}
	for i := range s.proxies {
		all = append(all, Action{Verb: connect, N: i, M: i % len(s.replicas)}, Action{Verb: request1, N: i}, Action{Verb: response1, N: i})
	}
	for i, r := range s.replicas {
		if r == nil {
			continue
		}
		for _, kind := range kinds(r) {
			all = append(all, Action{Verb: watch, N: i, Kind: kind})
		}
		all = append(all, Action{Verb: assign, N: i}, Action{Verb: handle, N: i})
		for j := range s.replicas {
			if i != j {
				all = append(all, Action{Verb: peerRequest1, N: i, M: j}, Action{Verb: peerResponse1, N: i, M: j})
			}
		}
	}
	for g := range s.Gateways {
		all = append(all, Action{Verb: report, N: g})
	}
	return all
}

// checkRest looks at what must hold when nothing is under way.
func (s *simulation) checkRest() {
	bad := false
	for i, sl := range slots {
		if r := s.api.route(i); r != nil && sl.gateway < s.Gateways {
			bad = bad || spoiled(r)
			s.checkRoute(i, r)
		}
	}
	clear(s.moved)
	if !bad {
		s.checkCold()
	}
}

// checkRoute checks that a route is Programmed and served, or refused and not Programmed.
func (s *simulation) checkRoute(i int, r *gwv1.HTTPRoute) {
	ports, live := s.ports(slots[i].gateway), programmedGeneration(r) == r.Generation
	switch {
	case len(ports) == 0:
		return
	case spoiled(r):
		if live {
			s.violate("(c) route %s is refused by every proxy, and is Programmed", r.Name)
		}
		return
	case !live:
		s.violate("(d) at rest, route %s is not Programmed: %s", r.Name, programmedIs(r))
	}
	for n, p := range s.proxies {
		if p.gateway != slots[i].gateway {
			continue
		}
		for _, port := range ports {
			if problem := s.unserved(claim{i, n, port}, stampOf(r)); problem != "" {
				s.violate("(c) at rest, route %s is Programmed, and %s", r.Name, problem)
			}
		}
	}
}

// checkCold compares every replica, and every proxy, with what one that has just started computes.
func (s *simulation) checkCold() {
	fresh := newReplica(s.ctx, "cold", s.openPeer, nil)
	for what, object := range s.api.objects {
		fresh.observe(event{ref: what, object: object})
	}
	fresh.pipeline.Start()
	fresh.applyEndpoints()
	for g := range s.Gateways {
		group := groupOf(g)
		cold := fresh.cache.Snapshot(group)
		for i, r := range s.replicas {
			if own := r.cache.Snapshot(group); own.State != cold.State {
				s.violate("(f) at rest, replica %d has another state of Gateway %s than a cold computation", i, gateways[g])
			}
		}
		for _, p := range s.proxies {
			if p.gateway == g {
				s.compare(p, cold)
			}
		}
	}
	fresh.stop()
}

// compare checks that a proxy has the clusters and listeners of a snapshot and no others.
func (s *simulation) compare(p *proxy, cold xds.Snapshot) {
	for typeURL, resources := range map[string][]string{
		resourcev3.ClusterType: names(cold.Clusters), resourcev3.ListenerType: names(cold.Listeners),
	} {
		if held := p.envoy.Holds(typeURL); !slices.Equal(held, resources) {
			s.violate("(f) at rest, %s has %v, where a cold computation has %v", p.name, held, resources)
		}
	}
}
