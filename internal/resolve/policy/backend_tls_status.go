package policy

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// BackendTLSStatus is what became of the BackendTLSPolicy of that key, seen from each Gateway that sends requests to one of its targets.
// users finds the Gateways that use a target.
func (in Inputs) BackendTLSStatus(v *store.View, users Users, key string) outcome.Policy {
	p, ok := in.Policies.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	return backendTLSKind.Status(&p, backendTLSKind.Direct(&p, attach.Neighbours[ir.BackendTLS]{
		Policies: func(t attach.Target) []*ResolvedBackendTLS { return in.attached(v, t) },
		Missing:  func(t attach.Target) *refs.Problem { return in.missing(v, t) },
		Gateways: func(t attach.Target) []string { return in.gateways(v, users, t) },
	}))
}

// missing says what of a target does not exist.
func (in Inputs) missing(v *store.View, t attach.Target) *refs.Problem {
	service, ok := in.Objects.ServiceOf(v, irTarget(t))
	if !ok {
		return attach.NotFound(t)
	}
	if names := portNames(service); t.Section != "" && !slices.Contains(names, t.Section) {
		return attach.SectionNotFound(t, "TCP port", names)
	}
	return nil
}

// Users finds the Gateways, by `namespace/name`, that use a Service or a ServiceImport.
type Users struct {
	// OfPort are those that use a port of it, and OfMissing those that have a route which refers to it, where it does not exist.
	OfPort    func(service ir.BackendTarget, port int32) []string
	OfMissing func(service string) []string
}

// gateways lists the Gateways that use a target. Those of any port see a target whose port does not exist, so that one does.
// Where the Service does not exist, a Gateway has something to do with the policy only if one of its routes refers to the Service:
// a policy whose target is a slip of the pen belongs to none.
func (in Inputs) gateways(v *store.View, users Users, t attach.Target) []string {
	service, ok := in.Objects.ServiceOf(v, irTarget(t))
	if !ok {
		return users.OfMissing(irTarget(t).String())
	}
	exists := slices.Contains(portNames(service), t.Section)
	var gateways []string
	for _, port := range service.Spec.Ports {
		if isTCP(port) && (!exists || t.Section == "" || port.Name == t.Section) {
			gateways = append(gateways, users.OfPort(irTarget(t), port.Port)...)
		}
	}
	return gateways
}
