package proxyconfig

import (
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
