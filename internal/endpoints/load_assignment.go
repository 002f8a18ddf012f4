package endpoints

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// LoadAssignment is where the requests to one port of a Service or a ServiceImport, or to an XBackend or an InferencePool, may go.
// There always is one, empty where nothing serves the port: a cluster that is never told waits, one with an empty assignment answers
// 503.
//
// Endpoints are grouped by zone, with no weight and no priority, so that load is spread evenly over all of them. Those that a ServiceImport
// has in other clusters come after those in this one.
//
// Of more endpoints than a backend may have, it has as many as it may; see [Size].
func LoadAssignment(v *store.View, objects *store.Objects, of ir.Endpoints) (*endpointv3.ClusterLoadAssignment, Size) {
	all, _, size := Assign(v, objects, of)
	return all, size
}

// Assign is [LoadAssignment], and what proxies in some places get instead, nil if the Service does not ask for that.
func Assign(v *store.View, objects *store.Objects, of ir.Endpoints) (*endpointv3.ClusterLoadAssignment, *Local, Size) {
	service, found := targets(v, objects, of)
	size := Size{Wanted: len(found)}
	if service != nil {
		size.Created = service.CreationTimestamp.Unix()
	}
	found = within(found, objects.Limits.Endpoints)
	size.Taken = len(found)
	return assignment(of, found), local(of, service, found), size
}

// Size is how many endpoints a backend has.
type Size struct {
	// Wanted are there, and Taken are served.
	Wanted, Taken int
	// Created is how old the Service is that has them.
	Created int64
}

func assignment(of ir.Endpoints, targets []target) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: of.String(), Endpoints: localities(targets)}
}

func targets(v *store.View, objects *store.Objects, of ir.Endpoints) (*corev1.Service, []target) {
	service, ok := serviceOf(v, objects, of)
	if !ok {
		return nil, nil
	}
	transport := corev1.ProtocolTCP
	if of.UDP {
		transport = corev1.ProtocolUDP
	}
	ports := portsOf(v, objects, service, of, transport)
	if len(ports) == 0 {
		return service, nil
	}
	if of.Kind == ir.KindServiceImport {
		found := slicesOf(v, objects, objects.SlicesByServiceImport, service)
		wanted := slicePortName{name: ports[0].Name, transport: transport}
		return service, chooseOfClusters(found, wanted, service.Spec.IPFamilies, objects.ClusterID)
	}
	found := slicesOf(v, objects, objects.SlicesByService, service)
	var all []target
	for _, port := range ports {
		all = append(all, choose(found, slicePortName{name: port.Name, transport: transport}, service.Spec.IPFamilies)...)
	}
	if len(ports) > 1 {
		all = distinct(all)
	}
	return service, all
}

func slicesOf(
	v *store.View, objects *store.Objects, index *store.Index[*discoveryv1.EndpointSlice], service *corev1.Service,
) []*discoveryv1.EndpointSlice {
	var found []*discoveryv1.EndpointSlice
	for _, name := range index.Keys(v, store.KeyOf(service)) {
		if slice, ok := objects.EndpointSlices.Get(v, name); ok {
			found = append(found, slice)
		}
	}
	return found
}

// portsOf are the ports of a Service that a backend has: one, or all of those of an InferencePool.
func portsOf(
	v *store.View, objects *store.Objects, service *corev1.Service, of ir.Endpoints, transport corev1.Protocol,
) []corev1.ServicePort {
	if of.Kind == ir.KindInferencePool {
		return poolPorts(v, objects, service, of)
	}
	port, ok := servicePort(service, of.Port, transport)
	if !ok {
		return nil
	}
	return []corev1.ServicePort{port}
}

// localities groups targets that are sorted by cluster and zone. Envoy needs priorities without gaps, from 0 on.
func localities(targets []target) []*endpointv3.LocalityLbEndpoints {
	var groups []*endpointv3.LocalityLbEndpoints
	priority := uint32(0)
	for i, t := range targets {
		if i > 0 && targets[i-1].elsewhere != t.elsewhere {
			priority++
		}
		if i == 0 || targets[i-1].zone != t.zone || targets[i-1].elsewhere != t.elsewhere {
			group := &endpointv3.LocalityLbEndpoints{Priority: priority}
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
