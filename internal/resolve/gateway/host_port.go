package gateway

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

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
	wanted := value(value(own.Pod).HostPorts) == v1alpha1.PodHostPortsEnabled
	if !wanted || class.HostPorts || value(value(s.spec.Pod).HostPorts) == v1alpha1.PodHostPortsEnabled {
		return ""
	}
	return fmt.Sprintf("ProxyConfig %s has pod.hostPorts, and its class does not allow that; "+
		"have the ProxyConfig of the class say `hostPorts: %s`, or leave it out", key, v1alpha1.HostPortsAllowed)
}
