package render

import (
	corev1 "k8s.io/api/core/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// hostPorts are the ports of a Gateway that are opened on nodes. Otherwise pods name no port but the one for probes, so that a Gateway can
// have other ports without other pods.
func hostPorts(gateway ir.Gateway) []*applycorev1.ContainerPortApplyConfiguration {
	var ports []*applycorev1.ContainerPortApplyConfiguration
	for _, port := range gateway.Ports {
		if !gateway.Fleet.Proxies.Pod.HostPorts || !port.OnNodes {
			continue
		}
		ports = append(ports, applycorev1.ContainerPort().
			WithName(portName(port)).
			WithContainerPort(port.Socket()).
			WithHostPort(port.Number).
			WithProtocol(transport(port)))
	}
	return ports
}

// withoutHostPorts is a pod template without the ports of nodes that another has: those are rendered, and no patch asks for them.
func withoutHostPorts(template, rendered corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	type port struct {
		number   int32
		protocol corev1.Protocol
	}
	known := map[port]bool{}
	for _, container := range rendered.Spec.Containers {
		for _, p := range container.Ports {
			known[port{p.HostPort, p.Protocol}] = p.HostPort != 0
		}
	}
	stripped := *template.DeepCopy()
	for i := range stripped.Spec.Containers {
		for j, p := range stripped.Spec.Containers[i].Ports {
			if known[port{p.HostPort, p.Protocol}] {
				stripped.Spec.Containers[i].Ports[j].HostPort = 0
			}
		}
	}
	return stripped
}
