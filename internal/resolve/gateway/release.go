package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
)

// notOurs is a Gateway that is not ours, or not now. With a class of another controller nothing of ours may stay, and what is said of its
// present generation is the other's. Where the class is missing, no other controller serves the Gateway: its fleet keeps its
// address until the class is back, and whatever we said of it is withdrawn.
func notOurs(gw *gwv1.Gateway, class class.Resolved) Resolved {
	r := Resolved{Generation: gw.Generation}
	r.Gateway = ir.Gateway{
		Name: ir.Name{Namespace: gw.Namespace, Name: gw.Name}, Fleet: ir.Fleet{UID: string(gw.UID), Class: string(gw.Spec.GatewayClassName)},
	}
	if !class.Foreign {
		r.Generation++
		r.Gateway.Fleet.Name = ir.FleetName(gw.Name, string(gw.Spec.GatewayClassName))
	}
	return r
}
