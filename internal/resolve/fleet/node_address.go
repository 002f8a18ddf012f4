package fleet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// maxAddresses is how many addresses the status of a Gateway can have.
const maxAddresses = 16

// nodeAddresses returns the external addresses of the nodes with these labels, by node name. If no node has one, it returns the internal
// ones. It leaves out nodes that are excluded from load balancers.
func nodeAddresses(v *store.View, objects *store.Objects, selector map[string]string) []outcome.Address {
	for _, wanted := range []corev1.NodeAddressType{corev1.NodeExternalIP, corev1.NodeInternalIP} {
		var found []outcome.Address
		for _, name := range slices.Sorted(slices.Values(objects.AllNodes.Keys(v, ""))) {
			node, ok := objects.Nodes.Get(v, name)
			if !ok {
				continue
			}
			if _, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]; excluded || !selected(node, selector) {
				continue
			}
			for _, address := range node.Status.Addresses {
				if address.Type == wanted && len(found) < maxAddresses {
					found = append(found, outcome.Address{Value: address.Address})
				}
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

func selected(node *corev1.Node, selector map[string]string) bool {
	for label, value := range selector {
		if got, ok := node.Labels[label]; !ok || got != value {
			return false
		}
	}
	return true
}

// nodePorts describes the NodePorts of a Gateway's Service, empty for another type of Service.
func nodePorts(v *store.View, objects *store.Objects, gateway ir.Gateway) string {
	service, ok := objects.Services.Get(v, Key(gateway))
	if !ok || service.Spec.Type != corev1.ServiceTypeNodePort || gateway.Fleet.InClusterOnly {
		return ""
	}
	var ports []string
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			ports = append(ports, fmt.Sprintf("%d for port %d", port.NodePort, port.Port))
		}
	}
	if len(ports) == 0 {
		return ""
	}
	return "; clients reach it at these ports of the nodes: " + strings.Join(ports, ", ")
}
