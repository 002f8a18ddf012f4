package gateway

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
)

// hostPorts says what is wrong with ports that are to be opened on nodes. A fleet that has them needs no load balancer.
func hostPorts(p *ir.Proxies, placement v1alpha1.Placement) string {
	switch {
	case !p.Pod.HostPorts:
		return ""
	case !p.DaemonSet:
		return "pod.hostPorts needs workload DaemonSet, so that it is known which nodes have a proxy; add it"
	case placement == v1alpha1.PlacementShared:
		return "pod.hostPorts and placement Shared exclude each other: Gateways that share proxies may have the same ports; leave out one of them"
	}
	if p.Service.Type == "" {
		p.Service.Type = string(corev1.ServiceTypeClusterIP)
	}
	return ""
}

// foreignHostPorts finds a Gateway that opens ports of nodes, and a class that does not let it. Ports of a node are shared by all that runs
// there.
func foreignHostPorts(own v1alpha1.ProxyConfigSpec, s settings, class ResolvedClass, key string) string {
	wanted := ptr.Deref(ptr.Deref(own.Pod, v1alpha1.Pod{}).HostPorts, "") == v1alpha1.PodHostPortsEnabled
	if !wanted || class.HostPorts || ptr.Deref(ptr.Deref(s.spec.Pod, v1alpha1.Pod{}).HostPorts, "") == v1alpha1.PodHostPortsEnabled {
		return ""
	}
	return fmt.Sprintf("ProxyConfig %s has pod.hostPorts, and its class does not allow that; "+
		"have the ProxyConfig of the class say `hostPorts: %s`, or leave it out", key, v1alpha1.HostPortsAllowed)
}

// reservedOnNodes are ports of nodes that no Gateway gets, from first to last: SSH, etcd, the API server, the kubelet and its neighbours,
// and those that Kubernetes gives to Services.
var reservedOnNodes = [][2]int32{{22, 22}, {2379, 2380}, {6443, 6443}, {10248, 10259}, {30000, 32767}}

// openOnNodes marks the ports that are opened on nodes, and says which of them no Gateway can have. Those of the Gateway's own listeners
// are opened: whoever may only attach a ListenerSet takes no port of a node.
func openOnNodes(gateway *ir.Gateway, listeners []Listener) string {
	if !gateway.Fleet.Proxies.Pod.HostPorts {
		return ""
	}
	own := map[string]string{}
	for _, l := range listeners {
		if l.Open && l.Set == "" {
			own[ir.Port{Number: l.Port, Protocol: l.Protocol}.ID()] = l.Name
		}
	}
	var problem string
	for i := range gateway.Ports {
		port := &gateway.Ports[i]
		name, found := own[port.ID()]
		port.OnNodes = found
		reserved := slices.ContainsFunc(reservedOnNodes, func(r [2]int32) bool { return r[0] <= port.Number && port.Number <= r[1] })
		if found && reserved && problem == "" {
			problem = fmt.Sprintf("listener %s has port %d, which pod.hostPorts would open on nodes, where it is for Kubernetes or for those who "+
				"run the nodes; choose another port, or leave out pod.hostPorts", name, port.Number)
		}
	}
	return problem
}
