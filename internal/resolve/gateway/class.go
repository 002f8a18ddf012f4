package gateway

import (
	"cmp"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// ControllerName is the name by which a GatewayClass chooses Gatewright, unless an installation has one of its own.
const ControllerName gwv1.GatewayController = "gatewright.dev/gateway-controller"

// Controller is the name by which a GatewayClass chooses this installation.
func Controller(objects *store.Objects) gwv1.GatewayController {
	return cmp.Or(objects.Controller, ControllerName)
}

// Installation is the label of what an installation makes, empty for the one with the default name: what it made before there were names
// has no label.
func Installation(controller gwv1.GatewayController) string {
	if controller == "" || controller == ControllerName {
		return ""
	}
	return ir.Installation(string(controller))
}

// ResolvedClass is what a GatewayClass means to us.
type ResolvedClass struct {
	// Ours says that the class names Gatewright.
	Ours bool
	// Foreign says that the class names another controller.
	Foreign bool
	// Parameters is the key of the ProxyConfig of the class, empty for none, and Problem what is wrong with it.
	Parameters string
	Problem    string
	// DefaultGateways says that Gateways of the class may take routes that do not name them.
	DefaultGateways bool
	// HostPorts says that Gateways of the class may open their ports on nodes.
	HostPorts bool
	// PortsPerNamespace is how many sockets the Gateways of a namespace can have together on proxies that the class shares.
	PortsPerNamespace int
	Outcome           outcome.Class
}

// Class resolves the GatewayClass of that name.
func Class(v *store.View, objects *store.Objects, name string) ResolvedClass {
	class, ok := objects.GatewayClasses.Get(v, name)
	if !ok || class.Spec.ControllerName != Controller(objects) {
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
	var spec v1alpha1.ProxyConfigSpec
	if config, ok := objects.ProxyConfigs.Get(v, parameters); ok {
		spec = config.Spec
	}
	return ResolvedClass{
		Ours:              true,
		Parameters:        parameters,
		Problem:           problem,
		DefaultGateways:   ptr.Deref(spec.DefaultGateways, "") == v1alpha1.DefaultGatewaysAllowed,
		HostPorts:         ptr.Deref(spec.HostPorts, "") == v1alpha1.HostPortsAllowed,
		PortsPerNamespace: int(cmp.Or(ptr.Deref(ptr.Deref(spec.Limits, v1alpha1.Limits{}).PortsPerNamespace, 0), portsPerNamespace)),
		Outcome: outcome.Class{
			Generation: class.Generation,
			Conditions: []outcome.Condition{accepted, supportedVersion(v, objects)},
			Features:   Features,
		},
	}
}
