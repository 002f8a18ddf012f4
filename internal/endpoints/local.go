package endpoints

import (
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// Local is what proxies in some places get instead of all endpoints, by the names of nodes and zones. A node counts before its zone.
type Local struct {
	Nodes, Zones map[string]*endpointv3.ClusterLoadAssignment
	// Elsewhere is for nodes that are not listed, nil if those get what their zone, or all, get.
	Elsewhere *endpointv3.ClusterLoadAssignment
}

// local follows what a Service says about where its traffic may go, as kube-proxy does: `internalTrafficPolicy: Local` keeps it on the
// node. Otherwise the hints of EndpointSlices count, which Kubernetes writes for `trafficDistribution`, if every endpoint has them: a proxy
// uses the endpoints that are for its node, or else those for its zone, or else all.
//
// What a slice of a ServiceImport says about nodes and zones may be about those of another cluster, so it does not count.
func local(of ir.Endpoints, service *corev1.Service, targets []target) *Local {
	switch {
	case service == nil || of.Kind == ir.KindServiceImport:
		return nil
	case service.Spec.InternalTrafficPolicy != nil && *service.Spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal:
		byNode := group(of, targets, func(t target) []string { return []string{t.node} })
		delete(byNode, "")
		return &Local{Nodes: byNode, Elsewhere: assignment(of, nil)}
	case hinted(targets) > max(maxCopies*len(targets), fewCopies):
		return nil
	}
	l := &Local{Nodes: group(of, targets, hintedNodes), Zones: group(of, targets, hintedZones)}
	if len(l.Nodes) == 0 && len(l.Zones) == 0 {
		return nil
	}
	return l
}

// An endpoint is copied for each place that it is for. Kubernetes names one zone and one node, and the API lets a tenant name eight of
// each. So hints count only if they make at most maxCopies of each endpoint on average, or few altogether; otherwise all proxies get all
// endpoints.
const (
	maxCopies = 4
	fewCopies = 1000
)

// hinted is how many copies hints ask for.
func hinted(targets []target) int {
	n := 0
	for _, t := range targets {
		if t.hints != nil {
			n += len(t.hints.ForNodes) + len(t.hints.ForZones)
		}
	}
	return n
}

// group has an assignment for each place that endpoints are for, none if an endpoint is for no place.
func group(of ir.Endpoints, targets []target, places func(target) []string) map[string]*endpointv3.ClusterLoadAssignment {
	byPlace := map[string][]target{}
	for _, t := range targets {
		found := places(t)
		if len(found) == 0 {
			return nil
		}
		for _, place := range found {
			byPlace[place] = append(byPlace[place], t)
		}
	}
	assignments := make(map[string]*endpointv3.ClusterLoadAssignment, len(byPlace))
	for place, chosen := range byPlace {
		assignments[place] = assignment(of, chosen)
	}
	return assignments
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
