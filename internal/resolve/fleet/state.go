package fleet

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// Status is what a fleet reports about a Gateway.
type Status struct {
	Addresses []outcome.Address
	// Programmed is the condition of the Gateway, as far as its fleet decides it.
	Programmed outcome.Condition
}

// State reads the objects of a Gateway's fleet. A proxy is available only with a complete configuration, so an available one serves.
// A frozen fleet is one whose parameters cannot be used; note is added to the message of a fleet that serves.
func State(v *store.View, objects *store.Objects, gateway ir.Gateway, frozen bool, note string) Status {
	condition := outcome.Condition{Type: string(gwv1.GatewayConditionProgrammed), State: outcome.False}
	fleet := gateway.Fleet
	key := Key(gateway)
	outside, inside := assignedAddresses(v, objects, key, gateway)
	running := runningFleet(v, objects, gateway)
	available := availableProxies(v, objects, running)
	missing, missingInside := missingAddresses(fleet.Addresses, outside), missingAddresses(fleet.ClusterAddresses, inside)
	switch {
	case frozen:
		condition.Reason = string(gwv1.GatewayReasonInvalid)
		condition.Message = "the Gateway's parameters cannot be used, so its proxies run on as they were, if there are any"
	case len(missing) > 0:
		condition.Reason = string(gwv1.GatewayReasonAddressNotUsable)
		condition.Message = fmt.Sprintf("the load balancer of Service %s did not assign %s", key, strings.Join(missing, ", "))
	case len(missingInside) > 0:
		condition.Reason = string(gwv1.GatewayReasonAddressNotUsable)
		condition.Message = fmt.Sprintf("Service %s does not have the cluster address %s; is it free, and of the cluster's Service range? "+
			"A Service keeps the address it has: delete it, so that it is made again with another", key, strings.Join(missingInside, ", "))
	case len(outside) == 0 && !fleet.InClusterOnly:
		condition.Reason = string(gwv1.GatewayReasonAddressNotAssigned)
		condition.Message = fmt.Sprintf("Service %s has no address yet; is there a load balancer in this cluster?", key)
		if _, waits := objects.Services.Get(v, key); waits {
			condition.Message += " If there is none, set service.type of the ProxyConfig to ClusterIP or NodePort"
		}
	case len(inside) == 0 && fleet.InCluster:
		condition.Reason = string(gwv1.GatewayReasonAddressNotAssigned)
		condition.Message = fmt.Sprintf("Service %s has no cluster address yet", key)
	case available == 0:
		condition.Reason = string(gwv1.GatewayReasonNoResources)
		condition.Message = notStarting(v, objects, running, workload(fleet))
	default:
		condition.State = outcome.True
		condition.Reason = string(gwv1.GatewayReasonProgrammed)
		condition.Message = fmt.Sprintf("%d proxies serve the Gateway", available)
		if fleet.Shared != (ir.Name{}) {
			// With their number, every pod that starts or ends would be a status write of each Gateway.
			condition.Message = fmt.Sprintf("the proxies of class %s serve the Gateway, and others of the class", fleet.Class)
		}
		condition.Message += nodePorts(v, objects, gateway)
		if fleet.Delivery == ir.Files {
			condition.Message += "; they are configured by files, which are not acknowledged: only the log of a proxy reports what it rejects"
		}
		if note != "" {
			condition.Message += "; " + note
		}
	}
	return Status{Addresses: slices.Concat(outside, inside), Programmed: condition}
}

// Key returns the key of the objects of a fleet.
func Key(gateway ir.Gateway) string {
	return store.Key(gateway.FleetNamespace(), gateway.Fleet.Name)
}

// runningFleet returns the fleet whose proxies serve a Gateway: its own, or the shared one.
func runningFleet(v *store.View, objects *store.Objects, gateway ir.Gateway) ir.Gateway {
	if gateway.Fleet.Shared == (ir.Name{}) {
		return gateway
	}
	class, ok := objects.GatewayClasses.Get(v, gateway.Fleet.Class)
	if !ok {
		return ir.Gateway{}
	}
	return sharedFleet(objects, class)
}

// workload returns the kind of object that runs the proxies.
func workload(fleet ir.Fleet) store.Kind {
	if fleet.Proxies.DaemonSet {
		return store.DaemonSet
	}
	return store.Deployment
}

// availableProxies counts the available proxies of the workload, and of the one that it replaces.
func availableProxies(v *store.View, objects *store.Objects, gateway ir.Gateway) int32 {
	key, available := Key(gateway), int32(0)
	if deployment, ok := objects.Deployments.Get(v, key); ok && ownedBy(deployment, gateway) {
		available += deployment.Status.AvailableReplicas
	}
	if daemons, ok := objects.DaemonSets.Get(v, key); ok && ownedBy(daemons, gateway) {
		available += daemons.Status.NumberAvailable
	}
	return available
}
