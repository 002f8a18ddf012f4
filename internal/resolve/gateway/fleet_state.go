package gateway

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// fleetState reads the fleet's own objects. A proxy is available only with a complete configuration, so an available one serves.
func fleetState(v *store.View, objects *store.Objects, r Resolved) ([]outcome.Address, outcome.Condition) {
	condition := outcome.Condition{Type: string(gwv1.GatewayConditionProgrammed), State: outcome.False}
	if !r.Serves {
		condition.Reason, condition.Message = string(gwv1.GatewayReasonInvalid), "the Gateway is not accepted, so no proxy runs for it"
		return nil, condition
	}
	fleet := r.Gateway.Fleet
	key := fleetKey(r.Gateway)
	outside, inside := fleetAddresses(v, objects, key, r.Gateway)
	running := runningFleet(v, objects, r.Gateway)
	available := availableProxies(v, objects, running)
	missing, missingInside := missingAddresses(fleet.Addresses, outside), missingAddresses(fleet.ClusterAddresses, inside)
	switch {
	case r.Held != "":
		condition.Reason = string(gwv1.GatewayReasonInvalid)
		condition.Message = "the Gateway's parameters can not be used, so its proxies run on as they were, if there are any"
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
			// Their number would be a write of every Gateway's status whenever a pod comes or goes.
			condition.Message = fmt.Sprintf("the proxies of class %s serve the Gateway, and others of the class", fleet.Class)
		}
		condition.Message += nodePorts(v, objects, r.Gateway)
		if fleet.Delivery == ir.Files {
			condition.Message += "; they are supplied by files, which are not acknowledged: what a proxy refuses of them is said in its log only"
		}
		if without := leftOut(r.own()); without != "" {
			condition.Message += "; " + without
		}
	}
	return slices.Concat(outside, inside), condition
}

func fleetKey(gateway ir.Gateway) string {
	return store.Key(gateway.FleetNamespace(), gateway.Fleet.Name)
}

// runningFleet is the one whose proxies serve a Gateway.
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

// workload is the kind of object that runs the proxies.
func workload(fleet ir.Fleet) store.Kind {
	if fleet.Proxies.DaemonSet {
		return store.DaemonSet
	}
	return store.Deployment
}

// availableProxies counts those of the workload there should be, and of the one it replaces as long as that is there.
func availableProxies(v *store.View, objects *store.Objects, gateway ir.Gateway) int32 {
	key, available := fleetKey(gateway), int32(0)
	if deployment, ok := objects.Deployments.Get(v, key); ok && ownedBy(deployment, gateway) {
		available += deployment.Status.AvailableReplicas
	}
	if daemons, ok := objects.DaemonSets.Get(v, key); ok && ownedBy(daemons, gateway) {
		available += daemons.Status.NumberAvailable
	}
	return available
}
