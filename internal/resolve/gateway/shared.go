package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/fleet"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// withoutCertificate removes the client certificate of a Gateway that shares its proxies. Connections to a backend are shared too: one
// that presents the certificate of a Gateway must not carry requests of another.
func (r *Resolved) withoutCertificate() {
	if r.Gateway.Fleet.Shared == (ir.Name{}) || r.ClientCertificate == "" {
		return
	}
	r.ClientCertificate = ""
	r.Conditions = notResolved(r.Conditions, &refs.Problem{
		Reason: string(gwv1.GatewayReasonInvalidClientCertificateRef),
		Message: fmt.Sprintf("spec.tls.backend.clientCertificateRef: the Gateways of class %s share their proxies, and with them the "+
			"connections to backends, which are shown no client certificate; use a class whose Gateways have proxies of their own",
			r.Gateway.Fleet.Class),
	})
}

// Tenant returns what the Gateway needs of the shared fleet of its class.
func (r Resolved) Tenant(v *store.View, objects *store.Objects) fleet.Tenant {
	if !r.Serves {
		return fleet.Tenant{}
	}
	return fleet.TenantOf(v, objects, r.Gateway, r.Frozen != "")
}

// Bind sets the target ports of the Gateway on a shared fleet. A Gateway with a port that has none is frozen.
func (r Resolved) Bind(target func(port string) int32, quota int) Resolved {
	bound, problem := fleet.Bind(r.Gateway, target, quota)
	r.Gateway = bound
	return r.Freeze(problem)
}
