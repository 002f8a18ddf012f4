package endpoints

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
)

// Local is what proxies in some places get instead of all endpoints, by the names of nodes and zones. A node counts before its zone.
type Local struct {
	Nodes, Zones map[string]*endpointv3.ClusterLoadAssignment
	// Elsewhere is for nodes that are not listed, nil if those get what their zone, or everybody, gets.
	Elsewhere *endpointv3.ClusterLoadAssignment
}

// local follows what a Service says about where its traffic may go, as kube-proxy does: `internalTrafficPolicy: Local` keeps it on the
// node. Otherwise the hints of EndpointSlices count, which Kubernetes writes for `trafficDistribution`, if every endpoint has them: a proxy
// uses the endpoints that are for its node, or else those for its zone, or else all.
func local(key string, service *corev1.Service, targets []target) *Local {
	switch {
	case service == nil:
		return nil
	case service.Spec.InternalTrafficPolicy != nil && *service.Spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal:
		byNode, _ := group(key, targets, func(t target) []string { return []string{t.node} })
		delete(byNode, "")
		return &Local{Nodes: byNode, Elsewhere: assignment(key, nil)}
	}
	nodes, everyNode := group(key, targets, hintedNodes)
	zones, everyZone := group(key, targets, hintedZones)
	l := &Local{}
	if everyNode {
		l.Nodes = nodes
	}
	if everyZone {
		l.Zones = zones
	}
	if len(l.Nodes) == 0 && len(l.Zones) == 0 {
		return nil
	}
	return l
}

// group has an assignment for each place that endpoints are for, and says whether each endpoint is for one.
func group(key string, targets []target, places func(target) []string) (map[string]*endpointv3.ClusterLoadAssignment, bool) {
	byPlace := map[string][]target{}
	every := true
	for _, t := range targets {
		found := places(t)
		every = every && len(found) > 0
		for _, place := range found {
			byPlace[place] = append(byPlace[place], t)
		}
	}
	assignments := make(map[string]*endpointv3.ClusterLoadAssignment, len(byPlace))
	for place, chosen := range byPlace {
		assignments[place] = assignment(key, chosen)
	}
	return assignments, every
}

func hintedZones(t target) []string {
	if t.hints == nil {
		return nil
	}
	zones := make([]string, len(t.hints.ForZones))
	for i, zone := range t.hints.ForZones {
		zones[i] = zone.Name
	}
	return zones
}

func hintedNodes(t target) []string {
	if t.hints == nil {
		return nil
	}
	nodes := make([]string, len(t.hints.ForNodes))
	for i, node := range t.hints.ForNodes {
		nodes[i] = node.Name
	}
	return nodes
}
