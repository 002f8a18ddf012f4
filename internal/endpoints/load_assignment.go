package endpoints

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// LoadAssignment is where the requests to one port of a Service, or to an XBackend, may go; the key is its [ir.Backend.EndpointsName].
// There always is one, empty where nothing serves the port: a cluster that is never told waits, one that is told there is nobody answers
// 503.
//
// Endpoints are grouped by zone, with no weight and no priority, so that load is spread evenly over all of them.
//
// Of more endpoints than a backend may have, it has as many as it may; see [Size].
func LoadAssignment(v *store.View, objects *store.Objects, key string) (*endpointv3.ClusterLoadAssignment, Size) {
	all, _, size := Assign(v, objects, key)
	return all, size
}

// Assign is [LoadAssignment], and what proxies in some places get instead, nil if the Service does not ask for that.
func Assign(v *store.View, objects *store.Objects, key string) (*endpointv3.ClusterLoadAssignment, *Local, Size) {
	service, found := targets(v, objects, key)
	size := Size{Wanted: len(found)}
	if service != nil {
		size.Created = service.CreationTimestamp.Unix()
	}
	found = within(found, objects.Limits.Endpoints)
	size.Taken = len(found)
	return assignment(key, found), local(key, service, found), size
}

// Size is how many endpoints a backend has.
type Size struct {
	// Wanted are there, and Taken are served.
	Wanted, Taken int
	// Created is how old the Service is that has them.
	Created int64
}

func assignment(key string, targets []target) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: key, Endpoints: localities(targets)}
}

func targets(v *store.View, objects *store.Objects, key string) (*corev1.Service, []target) {
	backend, ok := ir.ParseBackend(key)
	if !ok {
		return nil, nil
	}
	service, ok := serviceOf(v, objects, backend)
	if !ok {
		return nil, nil
	}
	transport := corev1.ProtocolTCP
	if backend.Protocol == ir.BackendUDP {
		transport = corev1.ProtocolUDP
	}
	port, ok := servicePort(service, backend.Port, transport)
	if !ok {
		return service, nil
	}
	var found []*discoveryv1.EndpointSlice
	for _, name := range objects.SlicesByService.Keys(v, store.KeyOf(service)) {
		if slice, ok := objects.EndpointSlices.Get(v, name); ok {
			found = append(found, slice)
		}
	}
	return service, choose(found, slicePortName{name: port.Name, transport: transport}, service.Spec.IPFamilies)
}

// localities groups targets that are sorted by zone.
func localities(targets []target) []*endpointv3.LocalityLbEndpoints {
	var groups []*endpointv3.LocalityLbEndpoints
	for i, t := range targets {
		if i == 0 || targets[i-1].zone != t.zone {
			group := &endpointv3.LocalityLbEndpoints{}
			if t.zone != "" {
				group.Locality = &corev3.Locality{Zone: t.zone}
			}
			groups = append(groups, group)
		}
		last := groups[len(groups)-1]
		last.LbEndpoints = append(last.LbEndpoints, lbEndpoint(t.socket))
	}
	return groups
}

func lbEndpoint(s socket) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address:       s.address,
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: s.port},
		}}},
	}}}
}
