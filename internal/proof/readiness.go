package proof

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// readiness knows which pods are ready behind each Service of a fleet.
type readiness struct {
	// slices has the ready pods of each EndpointSlice, by Service and slice.
	slices map[string]map[string][]string
}

// Endpoints follows an EndpointSlice, nil when it is gone. The labels of a fleet's Service are on its slices, so those of others are not kept.
func (k *Keeper) Endpoints(key string, slice *discoveryv1.EndpointSlice) {
	namespace, _ := store.SplitKey(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	for service, own := range k.ready.slices {
		if _, ok := own[key]; ok {
			delete(own, key)
			k.touchService(service)
		}
		if len(own) == 0 {
			delete(k.ready.slices, service)
		}
	}
	if slice == nil || slice.Labels[gatewayLabel] == "" {
		return
	}
	service := store.Key(namespace, slice.Labels[discoveryv1.LabelServiceName])
	if k.ready.slices[service] == nil {
		k.ready.slices[service] = map[string][]string{}
	}
	var pods []string
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef != nil && endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
			pods = append(pods, endpoint.TargetRef.Name)
		}
	}
	k.ready.slices[service][key] = pods
	k.touchService(service)
}

// touchService has what is proved about whoever is served by way of a Service looked at again.
func (k *Keeper) touchService(service string) {
	for _, b := range k.books {
		for gateway, own := range b.services {
			if own != service {
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
