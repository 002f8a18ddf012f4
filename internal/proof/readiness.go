package proof

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// readiness knows which pods are ready behind each Service of a fleet.
type readiness struct {
	// slices has the ready pods of each EndpointSlice, by Service and slice, and services the Service of each slice.
	slices   map[string]map[string][]string
	services map[string]string
}

func newReadiness() readiness {
	return readiness{slices: map[string]map[string][]string{}, services: map[string]string{}}
}

// fronts finds the Gateways by the Service that leads to their proxies, and the other way round.
type fronts struct {
	gateways map[string]map[string]bool
	services map[string]string
}

func newFronts() fronts {
	return fronts{gateways: map[string]map[string]bool{}, services: map[string]string{}}
}

// set says which Service leads to the proxies of a Gateway, empty if none does.
func (f fronts) set(gateway, service string) {
	if before, ok := f.services[gateway]; ok && before != service {
		delete(f.gateways[before], gateway)
		if len(f.gateways[before]) == 0 {
			delete(f.gateways, before)
		}
		delete(f.services, gateway)
	}
	if service == "" {
		return
	}
	f.services[gateway] = service
	if f.gateways[service] == nil {
		f.gateways[service] = map[string]bool{}
	}
	f.gateways[service][gateway] = true
}

// Endpoints follows an EndpointSlice, nil when it is gone. The labels of a fleet's Service are on its slices, so those of others are not
// kept.
func (k *Keeper) Endpoints(key string, slice *discoveryv1.EndpointSlice) {
	namespace, _ := store.SplitKey(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if service, ok := k.ready.services[key]; ok {
		k.ready.drop(service, key)
		k.touchService(service)
	}
	if slice == nil || slice.Labels[gatewayLabel] == "" {
		return
	}
	service := store.Key(namespace, slice.Labels[discoveryv1.LabelServiceName])
	var pods []string
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef != nil && endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
			pods = append(pods, endpoint.TargetRef.Name)
		}
	}
	k.ready.keep(service, key, pods)
	k.touchService(service)
}

// touchService has what is proved about whoever is served by way of a Service looked at again.
func (k *Keeper) touchService(service string) {
	for gateway := range k.fronts.gateways[service] {
		b := k.books[k.groupOf(gateway)]
		if b == nil || b.services[gateway] != service {
			continue
		}
		k.sessions.mu.Lock()
		k.sessions.touch(b.group)
		k.sessions.mu.Unlock()
		if b.unled[gateway] && len(k.ready.pods(service)) > 0 {
			delete(b.unled, gateway)
			for s := range k.ofGateway(gateway) {
				k.publish(s)
			}
		}
	}
}

// keep notes the ready pods of a slice.
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

// pods are the ready ones behind a Service.
func (r readiness) pods(service string) []string {
	var pods []string
	for _, own := range r.slices[service] {
		pods = append(pods, own...)
	}
	slices.Sort(pods)
	return slices.Compact(pods)
}
