package store

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gatewright/gatewright/internal/ir"
)

// OfFleets selects the workloads and Services that are Gatewright's.
var OfFleets = labels.SelectorFromSet(labels.Set{ir.ManagedByLabel: ir.ManagedBy})

// needsNodes says that a change is a fleet's Service of type NodePort, or its DaemonSet with ports on nodes: the Gateway has the addresses
// of nodes. Or it is a slice with endpoints for zones: proxies are in the zones of their nodes. Other installations do not watch Nodes,
// which are many and change often.
func needsNodes(c Change) bool {
	switch object := c.Object.(type) {
	case *corev1.Service:
		return object.Spec.Type == corev1.ServiceTypeNodePort && OfFleets.Matches(labels.Set(object.Labels))
	case *appsv1.DaemonSet:
		return slices.ContainsFunc(object.Spec.Template.Spec.Containers, func(container corev1.Container) bool {
			return slices.ContainsFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.HostPort != 0 })
		})
	case *discoveryv1.EndpointSlice:
		return slices.ContainsFunc(object.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Hints != nil && len(e.Hints.ForZones) > 0 })
	default:
		return false
	}
}
