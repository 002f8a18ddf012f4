package policy

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

// Inputs are the tables that BackendTLSPolicies are weighed against each other with.
type Inputs struct {
	Objects  *store.Objects
	Policies *store.Table[ResolvedBackendTLS]
}

// PortTLS is how the connections to one port of a Service or a ServiceImport are secured, nil if no policy has a say. A policy
// for the port wins over one for the whole Service. The winner decides even where it cannot be served: falling back to another would weaken
// what it asks for.
func (in Inputs) PortTLS(v *store.View, service ir.BackendTarget, port int32) *ir.BackendTLS {
	whole := inherit.BackendTarget(service, "")
	object, ok := in.Objects.ServiceOf(v, service)
	if !ok {
		return nil
	}
	chain := []attach.Target{whole}
	if section := portName(object, port); section != "" {
		chain = append(chain, inherit.BackendTarget(service, section))
	}
	merged := backendTLSKind.Merge(attach.Subject{Chain: chain}, in.attached(v, whole))
	if len(merged.Origins) == 0 {
		return nil
	}
	return &merged.Spec
}

// attached lists the policies that target a Service or a ServiceImport, or a port of it.
func (in Inputs) attached(v *store.View, t attach.Target) []*ResolvedBackendTLS {
	return policiesOf(v, in.Policies, in.Objects.TLSPoliciesByService.Keys(v, backendTarget(t)))
}

func portName(service *corev1.Service, number int32) string {
	for _, port := range service.Spec.Ports {
		if port.Port == number && isTCP(port) {
			return port.Name
		}
	}
	return ""
}

// portNames lists the names of the TCP ports. The one port of a Service may have none.
func portNames(service *corev1.Service) []string {
	var names []string
	for _, port := range service.Spec.Ports {
		if isTCP(port) {
			names = append(names, port.Name)
		}
	}
	return names
}

func isTCP(port corev1.ServicePort) bool {
	return port.Protocol == "" || port.Protocol == corev1.ProtocolTCP
}
