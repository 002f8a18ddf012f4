package fleet

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
)

// classOnlyHostPorts finds a Gateway that opens ports of nodes although its class does not allow it. All workloads of a node share its
// ports.
func classOnlyHostPorts(own v1alpha1.ProxyConfigSpec, s settings, class class.Resolved, key string) string {
	wanted := ptr.Deref(ptr.Deref(own.Pod, v1alpha1.Pod{}).HostPorts, "") == v1alpha1.PodHostPortsEnabled
	if !wanted || class.HostPorts || ptr.Deref(ptr.Deref(s.spec.Pod, v1alpha1.Pod{}).HostPorts, "") == v1alpha1.PodHostPortsEnabled {
		return ""
	}
	return fmt.Sprintf("ProxyConfig %s has pod.hostPorts, and its class does not allow that; "+
		"have the ProxyConfig of the class say `hostPorts: %s`, or leave it out", key, v1alpha1.HostPortsAllowed)
}

// reservedOnNodes are ports of nodes that no Gateway can open, from first to last: SSH, etcd, the API server, the kubelet and other
// components of a node, and NodePorts.
var reservedOnNodes = [][2]int32{{22, 22}, {2379, 2380}, {6443, 6443}, {10248, 10259}, {30000, 32767}}

// OpenOnNodes marks the ports that are opened on nodes, and returns a message if one of them is reserved. Only the Gateway's own listeners
// open ports of nodes, not those of ListenerSets: own has their names by port ID.
func OpenOnNodes(gateway *ir.Gateway, own map[string]string) string {
	if !gateway.Fleet.Proxies.Pod.HostPorts {
		return ""
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
