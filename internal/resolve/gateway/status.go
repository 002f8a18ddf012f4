package gateway

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/fleet"
	"github.com/gatewright/gatewright/internal/store"
)

// reasonParentNotProgrammed is the standard's reason for a ListenerSet that waits for its Gateway; the API has no constant for it.
const reasonParentNotProgrammed = "ParentNotProgrammed"

// Status returns the outcome of a Gateway: its own conditions, the number of routes of each listener by ID, and the state of its fleet.
// For a Gateway that is no longer ours it returns only the generation up to which we may have written status.
func Status(
	v *store.View, objects *store.Objects, gateways func(key string) Resolved, attached func(listener string) int, key string,
) (outcome.Gateway, bool) {
	r := gateways(key)
	if !r.Ours {
		return outcome.Gateway{Generation: r.Generation}, false
	}
	addresses, programmed := r.fleetState(v, objects)
	result := outcome.Gateway{
		Generation: r.Generation,
		Conditions: slices.Concat([]outcome.Condition{r.Accepted, programmed}, r.Conditions),
		Addresses:  addresses,
		Listeners:  listenerStatuses(r, "", programmed, attached),
	}
	for _, set := range r.Sets {
		if set.Accepted.State == outcome.True {
			result.AttachedListenerSets++
		}
	}
	return result, true
}

// fleetState returns the addresses of the Gateway's fleet and the Programmed condition.
func (r Resolved) fleetState(v *store.View, objects *store.Objects) ([]outcome.Address, outcome.Condition) {
	if !r.Serves {
		return nil, outcome.Condition{
			Type: string(gwv1.GatewayConditionProgrammed), State: outcome.False, Reason: string(gwv1.GatewayReasonInvalid),
			Message: "the Gateway is not accepted, so no proxy runs for it",
		}
	}
	state := fleet.State(v, objects, r.Gateway, r.Frozen != "", leftOut(r.own()))
	return state.Addresses, state.Programmed
}

// SetStatus returns the outcome of the ListenerSet of that key. It returns false if its Gateway is not ours, with the outcome that replaces
// an earlier one.
func SetStatus(
	v *store.View, objects *store.Objects, gateways func(key string) Resolved, attached func(gateway, listener string) int, key string,
) (outcome.ListenerSet, bool) {
	set, ok := objects.ListenerSets.Get(v, key)
	if !ok {
		return outcome.ListenerSet{}, false
	}
	gateway, _ := store.ParentGateway(set)
	r := gateways(gateway)
	i := slices.IndexFunc(r.Sets, func(s Set) bool { return s.Key == key })
	if i < 0 {
		return waiting(set.Generation, gateway), false
	}
	_, programmed := r.fleetState(v, objects)
	return outcome.ListenerSet{
		Generation: set.Generation,
		Gateway:    gateway,
		Conditions: []outcome.Condition{r.Sets[i].Accepted, setProgrammed(r, r.Sets[i], programmed)},
		Listeners:  listenerStatuses(r, key, programmed, func(id string) int { return attached(gateway, id) }),
	}, true
}

// waiting is the outcome of a ListenerSet without a Gateway of ours.
func waiting(generation int64, gateway string) outcome.ListenerSet {
	pending := func(kind gwv1.ListenerSetConditionType) outcome.Condition {
		return outcome.Condition{
			Type: string(kind), State: outcome.Unknown, Reason: string(gwv1.ListenerSetReasonPending),
			Message: fmt.Sprintf("Gatewright serves no Gateway %s; see parentRef", gateway),
		}
	}
	return outcome.ListenerSet{
		Generation: generation,
		Conditions: []outcome.Condition{pending(gwv1.ListenerSetConditionAccepted), pending(gwv1.ListenerSetConditionProgrammed)},
	}
}

func setProgrammed(r Resolved, set Set, gateway outcome.Condition) outcome.Condition {
	listeners := slices.DeleteFunc(slices.Clone(r.Listeners), func(l Listener) bool { return l.Set != set.Key })
	unserved := leftOut(listeners)
	condition := outcome.Condition{Type: string(gwv1.ListenerSetConditionProgrammed), State: outcome.False}
	switch {
	case set.Accepted.State != outcome.True:
		condition.Reason, condition.Message = set.Accepted.Reason, "the ListenerSet is not accepted"
	case len(listeners) > 0 && !slices.ContainsFunc(listeners, Listener.Usable):
		condition.Reason, condition.Message = string(gwv1.ListenerSetReasonListenersNotValid), unserved
	case gateway.State != outcome.True:
		condition.Reason, condition.Message = reasonParentNotProgrammed, gateway.Message
	case unserved != "":
		condition.State = outcome.True
		condition.Reason, condition.Message = string(gwv1.ListenerSetReasonProgrammed), "proxies serve the valid listeners; "+unserved
	default:
		condition.State = outcome.True
		condition.Reason, condition.Message = string(gwv1.ListenerSetReasonProgrammed), "proxies serve the valid listeners"
	}
	return condition
}

// listenerStatuses is what became of each listener that a ListenerSet holds, or with an empty key the Gateway itself.
func listenerStatuses(r Resolved, set string, programmed outcome.Condition, attached func(listener string) int) []outcome.Listener {
	var statuses []outcome.Listener
	for _, l := range r.Listeners {
		if l.Set != set {
			continue
		}
		statuses = append(statuses, outcome.Listener{
			Name:           l.Name,
			SupportedKinds: l.Kinds,
			AttachedRoutes: int32(attached(l.ID)), //nolint:gosec // a listener has fewer than 2^31 routes
			Conditions:     append(l.Conditions[:len(l.Conditions):len(l.Conditions)], listenerProgrammed(l, programmed)),
		})
	}
	return statuses
}

func listenerProgrammed(l Listener, gateway outcome.Condition) outcome.Condition {
	condition := outcome.Condition{Type: string(gwv1.ListenerConditionProgrammed), State: outcome.False}
	switch {
	case l.Conflict != "":
		condition.Reason, condition.Message = l.Conflict, "the listener is not accepted"
	case !l.Accepted:
		condition.Reason, condition.Message = string(gwv1.ListenerReasonInvalid), "the listener is not accepted"
	case l.ClosedBy != "":
		condition.Reason = string(gwv1.ListenerReasonInvalid)
		condition.Message = "the listener " + ClosesConnections(l.ClosedBy) + ", whose conditions say why"
	case !l.Usable():
		condition.Reason, condition.Message = string(gwv1.ListenerReasonInvalid), "the listener has no usable certificate"
	case gateway.State != outcome.True:
		condition.Reason, condition.Message = string(gwv1.ListenerReasonPending), gateway.Message
	default:
		condition.State = outcome.True
		condition.Reason, condition.Message = string(gwv1.ListenerReasonProgrammed), "proxies serve the listener"
	}
	return condition
}
