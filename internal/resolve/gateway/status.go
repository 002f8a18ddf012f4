package gateway

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// Status puts together what became of a Gateway: what it means, how many routes each listener has, and how its fleet is.
// It is the zero value for a Gateway of somebody else's class.
func Status(v *store.View, objects *store.Objects, gateways *store.Table[Resolved], attached func(listener string) int, key string) (outcome.Gateway, bool) {
	r, _ := gateways.Get(v, key)
	if !r.Ours {
		return outcome.Gateway{}, false
	}
	addresses, programmed := fleetState(v, objects, r)
	result := outcome.Gateway{
		Generation: r.Generation,
		Conditions: slices.Concat([]outcome.Condition{r.Accepted, programmed}, r.Conditions),
		Addresses:  addresses,
	}
	for _, l := range r.Listeners {
		result.Listeners = append(result.Listeners, outcome.Listener{
			Name:           l.Name,
			SupportedKinds: l.Kinds,
			AttachedRoutes: int32(attached(l.Name)), //nolint:gosec // a listener has fewer than 2^31 routes
			Conditions:     append(l.Conditions[:len(l.Conditions):len(l.Conditions)], listenerProgrammed(l, programmed)),
		})
	}
	return result, true
}

func listenerProgrammed(l Listener, gateway outcome.Condition) outcome.Condition {
	condition := outcome.Condition{Type: string(gwv1.ListenerConditionProgrammed), State: outcome.False}
	switch {
	case !l.Accepted:
		condition.Reason, condition.Message = string(gwv1.ListenerReasonInvalid), "the listener is not accepted"
	case l.Protocol == "HTTPS" && len(l.Certificates) == 0:
		condition.Reason, condition.Message = string(gwv1.ListenerReasonInvalid), "the listener has no usable certificate"
	case gateway.State != outcome.True:
		condition.Reason, condition.Message = string(gwv1.ListenerReasonPending), gateway.Message
	default:
		condition.State = outcome.True
		condition.Reason, condition.Message = string(gwv1.ListenerReasonProgrammed), "proxies serve the listener"
	}
	return condition
}

// fleetState reads the fleet's own objects. A proxy is available only with a complete configuration, so an available one serves.
func fleetState(v *store.View, objects *store.Objects, r Resolved) ([]outcome.Address, outcome.Condition) {
	condition := outcome.Condition{Type: string(gwv1.GatewayConditionProgrammed), State: outcome.False}
	if !r.Serves {
		condition.Reason, condition.Message = string(gwv1.GatewayReasonInvalid), "the Gateway is not accepted, so no proxy runs for it"
		return nil, condition
	}
	key := store.Key(r.Gateway.Name.Namespace, r.Gateway.Fleet.Name)
	addresses := serviceAddresses(v, objects, key, r.Gateway.Fleet.UID)
	available := availableProxies(v, objects, key, r.Gateway.Fleet.UID)
	missing := missingAddresses(r.Gateway.Fleet.Addresses, addresses)
	switch {
	case len(addresses) == 0 && len(r.Gateway.Fleet.Addresses) == 0:
		condition.Reason = string(gwv1.GatewayReasonAddressNotAssigned)
		condition.Message = fmt.Sprintf("Service %s has no address yet; is there a load balancer in this cluster?", key)
	case len(missing) > 0:
		condition.Reason = string(gwv1.GatewayReasonAddressNotUsable)
		condition.Message = fmt.Sprintf("the load balancer of Service %s did not assign %s", key, strings.Join(missing, ", "))
	case available == 0:
		condition.Reason = string(gwv1.GatewayReasonNoResources)
		condition.Message = fmt.Sprintf("no proxy of Deployment %s is available yet", key)
	default:
		condition.State = outcome.True
		condition.Reason = string(gwv1.GatewayReasonProgrammed)
		condition.Message = fmt.Sprintf("%d proxies serve the Gateway", available)
	}
	return addresses, condition
}

func serviceAddresses(v *store.View, objects *store.Objects, key, owner string) []outcome.Address {
	service, ok := objects.Services.Get(v, key)
	if !ok || !ownedBy(service, owner) {
		return nil
	}
	var addresses []outcome.Address
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			addresses = append(addresses, outcome.Address{Value: ingress.IP})
		}
		if ingress.Hostname != "" {
			addresses = append(addresses, outcome.Address{Value: ingress.Hostname, Hostname: true})
		}
	}
	if len(addresses) == 0 && service.Spec.Type == corev1.ServiceTypeClusterIP {
		for _, ip := range service.Spec.ClusterIPs {
			addresses = append(addresses, outcome.Address{Value: ip})
		}
	}
	return addresses
}

func availableProxies(v *store.View, objects *store.Objects, key, owner string) int32 {
	deployment, ok := objects.Deployments.Get(v, key)
	if !ok || !ownedBy(deployment, owner) {
		return 0
	}
	return deployment.Status.AvailableReplicas
}

func missingAddresses(wanted []string, have []outcome.Address) []string {
	var missing []string
	for _, address := range wanted {
		found := false
		for _, h := range have {
			found = found || h.Value == address
		}
		if !found {
			missing = append(missing, address)
		}
	}
	return missing
}
