package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// ControllerName is the name by which a GatewayClass chooses Gatewright.
const ControllerName gwv1.GatewayController = "gatewright.dev/gateway-controller"

// ResolvedClass is what a GatewayClass means to us.
type ResolvedClass struct {
	// Ours says that the class names Gatewright, Accepted that its Gateways are served too.
	Ours     bool
	Accepted bool
	// Foreign says that the class names another controller.
	Foreign bool
	Outcome outcome.Class
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
	if ref := class.Spec.ParametersRef; ref != nil {
		accepted.State = outcome.False
		accepted.Reason = string(gwv1.GatewayClassReasonInvalidParameters)
		accepted.Message = fmt.Sprintf("parametersRef names %s %s in group %q, and this version takes no parameters; remove it", ref.Kind, ref.Name, ref.Group)
	}
	return ResolvedClass{
		Ours:     true,
		Accepted: accepted.State == outcome.True,
		Outcome: outcome.Class{
			Generation: class.Generation,
			Conditions: []outcome.Condition{accepted, supportedVersion(v, objects)},
			Features:   Features,
		},
	}
}
