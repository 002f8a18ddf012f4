package convergence

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// readiness has the ready pods of each Service of a fleet.
type readiness struct {
	// slices has the ready pods of each EndpointSlice, by Service and slice, and services the Service of each slice.
	slices   map[string]map[string][]string
	services map[string]string
}

func newReadiness() readiness {
	return readiness{slices: map[string]map[string][]string{}, services: map[string]string{}}
}

// serviceIndex maps Gateways to the Services of their proxies, and back.
type serviceIndex struct {
	gateways map[string]map[string]bool
	services map[string]string
}

func newServiceIndex() serviceIndex {
	return serviceIndex{gateways: map[string]map[string]bool{}, services: map[string]string{}}
}

// set sets the Service of a Gateway, empty for none.
func (s serviceIndex) set(gateway, service string) {
	if before, ok := s.services[gateway]; ok && before != service {
		delete(s.gateways[before], gateway)
		if len(s.gateways[before]) == 0 {
			delete(s.gateways, before)
		}
		delete(s.services, gateway)
	}
	if service == "" {
		return
	}
	s.services[gateway] = service
	if s.gateways[service] == nil {
		s.gateways[service] = map[string]bool{}
	}
	s.gateways[service][gateway] = true
}

// Endpoints follows an EndpointSlice, nil when it is gone. The labels of a fleet's Service are on its slices. Of others, those of the rate
// limit service count, which is known from the start.
func (t *Tracker) Endpoints(key string, slice *discoveryv1.EndpointSlice) {
	t.update(func() { t.setEndpoints(key, slice) })
}

func (t *Tracker) setEndpoints(key string, slice *discoveryv1.EndpointSlice) {
	namespace, _ := store.SplitKey(key)
	if service, ok := t.ready.services[key]; ok {
		t.ready.drop(service, key)
		t.touchService(service)
	}
	if slice == nil {
		return
	}
	service := store.Key(namespace, slice.Labels[discoveryv1.LabelServiceName])
	if slice.Labels[gatewayLabel] == "" && !t.byService.gateways[service][ir.RateLimitService.String()] {
		return
	}
	var pods []string
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef != nil && endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
			pods = append(pods, endpoint.TargetRef.Name)
		}
	}
	t.ready.keep(service, key, pods)
	t.touchService(service)
}

// touchService re-evaluates the groups of all Gateways that are reached through a Service.
func (t *Tracker) touchService(service string) {
	for gateway := range t.byService.gateways[service] {
		g := t.groups[t.groupIDOf(gateway)]
		if g == nil || g.services[gateway] != service {
			continue
		}
		t.sessions.mu.Lock()
		t.sessions.touch(g.id)
		t.sessions.mu.Unlock()
		if g.serviceNotSwitched[gateway] && len(t.ready.pods(service)) > 0 {
			delete(g.serviceNotSwitched, gateway)
			for o := range t.ofGateway(gateway) {
				t.notify = append(t.notify, o)
			}
		}
	}
}

// keep records the ready pods of a slice.
func (r readiness) keep(service, slice string, pods []string) {
	if r.slices[service] == nil {
		r.slices[service] = map[string][]string{}
	}
	r.slices[service][slice], r.services[slice] = pods, service
}

// drop forgets a slice.
func (r readiness) drop(service, slice string) {
	delete(r.services, slice)
	delete(r.slices[service], slice)
	if len(r.slices[service]) == 0 {
		delete(r.slices, service)
	}
}

// pods returns the ready pods of a Service.
func (r readiness) pods(service string) []string {
	var pods []string
	for _, own := range r.slices[service] {
		pods = append(pods, own...)
	}
	slices.Sort(pods)
	return slices.Compact(pods)
}
