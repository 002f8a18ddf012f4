package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// ControllerName is the name by which a GatewayClass chooses Gatewright.
const ControllerName gwv1.GatewayController = "gatewright.dev/gateway-controller"

// ResolvedClass is what a GatewayClass means to us.
type ResolvedClass struct {
	// Ours says that the class names Gatewright.
	Ours bool
	// Foreign says that the class names another controller.
	Foreign bool
	// Parameters is the key of the ProxyConfig of the class, empty for none, and Problem what is wrong with it.
	Parameters string
	Problem    string
	Outcome    outcome.Class
}

// Class resolves the GatewayClass of that name.
func Class(v *store.View, objects *store.Objects, name string) ResolvedClass {
	class, ok := objects.GatewayClasses.Get(v, name)
	if !ok || class.Spec.ControllerName != ControllerName {
		return ResolvedClass{Foreign: ok}
	}
	accepted := outcome.Condition{
		Type:    string(gwv1.GatewayClassConditionStatusAccepted),
		State:   outcome.True,
		Reason:  string(gwv1.GatewayClassReasonAccepted),
		Message: "Gatewright serves the Gateways of this class",
	}
	parameters, problem := classParameters(v, objects, class)
	if problem != "" {
		accepted.State = outcome.False
		accepted.Reason = string(gwv1.GatewayClassReasonInvalidParameters)
		accepted.Message = problem + "; until then the fleets of this class stay as they are, and there are no new ones"
	}
	return ResolvedClass{
		Ours:       true,
		Parameters: parameters,
		Problem:    problem,
		Outcome: outcome.Class{
			Generation: class.Generation,
			Conditions: []outcome.Condition{accepted, supportedVersion(v, objects)},
			Features:   Features,
		},
	}
}
