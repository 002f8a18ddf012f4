package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// The maximum sizes that the API accepts in a Gateway's status.
const (
	maxAddresses = 16
	maxListeners = 64
	maxKinds     = 8
)

// Gateway returns the status of a Gateway of ours: conditions, addresses, listeners and the number of ListenerSets. Other fields are
// kept. It is idempotent.
func Gateway(existing gwv1.GatewayStatus, o outcome.Gateway, now metav1.Time) gwv1.GatewayStatus {
	at := observation{o.Generation, now}
	status := existing
	status.Conditions = mergeConditions(existing.Conditions, o.Conditions, gatewayTypes, at)
	status.Addresses = addresses(o.Addresses)
	status.Listeners = listeners(existing.Listeners, o.Listeners, at)
	status.AttachedListenerSets = nil
	if o.AttachedListenerSets > 0 {
		status.AttachedListenerSets = &o.AttachedListenerSets
	}
	return status
}

func addresses(wanted []outcome.Address) []gwv1.GatewayStatusAddress {
	wanted = wanted[:min(len(wanted), maxAddresses)]
	list := make([]gwv1.GatewayStatusAddress, len(wanted))
	for i, address := range wanted {
		kind := gwv1.IPAddressType
		if address.Hostname {
			kind = gwv1.HostnameAddressType
		}
		list[i] = gwv1.GatewayStatusAddress{Type: &kind, Value: address.Value}
		if address.InCluster {
			list[i].Routability = new(gwv1.GatewayAddressRoutabilityCluster)
		}
	}
	return list
}

// listeners has the order of the outcome. An entry is ours except for conditions of others, so entries of listeners that are gone are
// removed too.
func listeners(stored []gwv1.ListenerStatus, wanted []outcome.Listener, at observation) []gwv1.ListenerStatus {
	wanted = wanted[:min(len(wanted), maxListeners)]
	list := make([]gwv1.ListenerStatus, 0, len(wanted))
	for _, listener := range wanted {
		var status gwv1.ListenerStatus
		i := slices.IndexFunc(stored, func(s gwv1.ListenerStatus) bool { return string(s.Name) == listener.Name })
		if i >= 0 {
			status = stored[i]
		}
		status.Name = gwv1.SectionName(listener.Name)
		status.SupportedKinds = kinds(listener.SupportedKinds)
		status.AttachedRoutes = listener.AttachedRoutes
		status.Conditions = mergeConditions(status.Conditions, listener.Conditions, listenerTypes, at)
		list = append(list, status)
	}
	return list
}

// kinds is never nil: a listener that supports no kind reports an empty list.
func kinds(wanted []outcome.RouteKind) []gwv1.RouteGroupKind {
	wanted = wanted[:min(len(wanted), maxKinds)]
	list := make([]gwv1.RouteGroupKind, len(wanted))
	for i, kind := range wanted {
		list[i] = gwv1.RouteGroupKind{Group: new(gwv1.Group(kind.Group)), Kind: gwv1.Kind(kind.Kind)}
	}
	return list
}
