package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/fleet"
	"github.com/gatewright/gatewright/internal/store"
)

// Broken is what a Gateway is whose resolution panicked: what it was last, and it says so. If that is not known, after a restart, its
// proxies go on with what they have; one that is new gets none.
func Broken(
	v *store.View, objects *store.Objects, classes *store.Table[class.Resolved], key string, last Resolved, reason string,
) Resolved {
	gw, ok := objects.Gateways.Get(v, key)
	if !ok {
		return Resolved{}
	}
	class, _ := classes.Get(v, string(gw.Spec.GatewayClassName))
	if !class.Ours {
		return notOurs(gw, class)
	}
	if !last.Ours || last.Gateway.Fleet.UID != string(gw.UID) {
		last = Resolved{Ours: true, Serves: true, Frozen: reason}
		last.Gateway = ir.Gateway{Name: ir.Name{Namespace: gw.Namespace, Name: gw.Name}, Fleet: fleet.New(objects, gw)}
		last.Gateway.Fleet.Suspended = true
	}
	last.Generation = gw.Generation
	last.Accepted = outcome.Condition{
		Type: string(gwv1.GatewayConditionAccepted), State: outcome.False, Reason: outcome.InternalError, Message: reason,
	}
	return last
}
