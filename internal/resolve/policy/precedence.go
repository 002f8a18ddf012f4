package policy

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// Inputs are the tables that policies are weighed against each other with.
type Inputs struct {
	Objects  *store.Objects
	Policies *store.Table[ResolvedBackendTLS]
}

// PortTLS is how the connections to one port of a Service are secured, nil if no policy has a say. A policy for the port wins over one
// for the whole Service. The winner decides even where it can not be served: falling back to another would weaken what it asks for.
func (in Inputs) PortTLS(v *store.View, service ir.Name, port int32) *ir.BackendTLS {
	key := store.Key(service.Namespace, service.Name)
	object, ok := in.Objects.Services.Get(v, key)
	if !ok {
		return nil
	}
	section := portName(object, port)
	winner, ok := in.winner(v, Target{Service: key, Section: section})
	if !ok && section != "" {
		winner, ok = in.winner(v, Target{Service: key})
	}
	if !ok {
		return nil
	}
	return &winner.TLS
}

// winner is the policy that takes precedence among all that name this very target.
func (in Inputs) winner(v *store.View, target Target) (ResolvedBackendTLS, bool) {
	var best ResolvedBackendTLS
	found := false
	for _, key := range in.Objects.TLSPoliciesByService.Keys(v, target.Service) {
		p, _ := in.Policies.Get(v, key)
		aims := slices.ContainsFunc(p.Targets, func(t Target) bool { return t.Service == target.Service && t.Section == target.Section })
		if aims && (!found || p.before(best)) {
			best, found = p, true
		}
	}
	return best, found
}

func (r ResolvedBackendTLS) before(other ResolvedBackendTLS) bool {
	return cmp.Or(cmp.Compare(r.Created, other.Created), cmp.Compare(r.Key, other.Key)) < 0
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
