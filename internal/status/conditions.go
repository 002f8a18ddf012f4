package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// The maximum sizes that the API accepts for a condition or a list of them.
const (
	maxConditions = 8
	maxMessage    = 32768
)

// The condition types that Gatewright writes. One of these that an outcome no longer has is removed; any other type belongs to another
// controller and is kept as it is.
var (
	classTypes = ownedTypes(
		gwv1.GatewayClassConditionStatusAccepted,
		gwv1.GatewayClassConditionStatusSupportedVersion,
	)
	gatewayTypes = ownedTypes(
		gwv1.GatewayConditionAccepted,
		gwv1.GatewayConditionProgrammed,
		gwv1.GatewayConditionResolvedRefs,
		gwv1.GatewayConditionInsecureFrontendValidationMode,
		outcome.DefaultGateway,
	)
	setTypes = ownedTypes(
		gwv1.ListenerSetConditionAccepted,
		gwv1.ListenerSetConditionProgrammed,
	)
	listenerTypes = ownedTypes(
		gwv1.ListenerConditionAccepted,
		gwv1.ListenerConditionProgrammed,
		gwv1.ListenerConditionResolvedRefs,
		gwv1.ListenerConditionConflicted,
		gwv1.ListenerConditionOverlappingTLSConfig,
	)
	routeTypes = ownedTypes(
		gwv1.RouteConditionAccepted,
		gwv1.RouteConditionResolvedRefs,
		gwv1.RouteConditionPartiallyInvalid,
		outcome.RouteProgrammed,
		outcome.Programmed,
	)
	policyTypes = ownedTypes(
		gwv1.PolicyConditionAccepted,
		gwv1.BackendTLSPolicyConditionResolvedRefs,
		// Only if proxies NACK what comes from the policy.
		outcome.RouteProgrammed,
		outcome.Programmed,
	)
)

func ownedTypes[T ~string](types ...T) map[string]bool {
	owned := make(map[string]bool, len(types))
	for _, t := range types {
		owned[string(t)] = true
	}
	return owned
}

// observation is when, and for which generation, an outcome was reached.
type observation struct {
	generation int64
	now        metav1.Time
}

func mergeConditions(stored []metav1.Condition, wanted []outcome.Condition, owned map[string]bool, at observation) []metav1.Condition {
	return shared[metav1.Condition, outcome.Condition]{
		limit: maxConditions,
		ours: func(c metav1.Condition) bool {
			return owned[c.Type] || slices.ContainsFunc(wanted, func(w outcome.Condition) bool { return w.Type == c.Type })
		},
		same:   func(c metav1.Condition, w outcome.Condition) bool { return c.Type == w.Type },
		update: at.condition,
	}.merge(stored, wanted)
}

// condition returns the condition as it is to be stored. The standard requires to keep a condition of a newer generation than ours:
// another replica knows more, and our own next outcome will catch up.
func (at observation) condition(stored metav1.Condition, wanted outcome.Condition) metav1.Condition {
	unsettled := wanted.State == outcome.Unsettled
	if stored.ObservedGeneration > at.generation || unsettled && stored.Type != "" && stored.LastTransitionTime.Unix() > 0 {
		return stored
	}
	if unsettled {
		wanted.State = outcome.Unknown
	}
	condition := metav1.Condition{
		Type:               wanted.Type,
		Status:             metav1.ConditionStatus(wanted.State),
		ObservedGeneration: at.generation,
		LastTransitionTime: at.now,
		Reason:             wanted.Reason,
		Message:            clip(wanted.Message, maxMessage),
	}
	// The default conditions of the API server have the zero time, which is no transition.
	if stored.Status == condition.Status && stored.LastTransitionTime.Unix() > 0 {
		condition.LastTransitionTime = stored.LastTransitionTime
	}
	return condition
}

// clip shortens a message to what the API accepts, between characters.
func clip(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit], "")
}
