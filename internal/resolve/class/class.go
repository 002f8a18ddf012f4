package class

import (
	"cmp"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// ControllerName is the default controller name. An installation can have its own.
const ControllerName gwv1.GatewayController = "gatewright.dev/gateway-controller"

// Controller returns the controller name by which a GatewayClass selects this installation.
func Controller(objects *store.Objects) gwv1.GatewayController {
	return cmp.Or(objects.Controller, ControllerName)
}

// Installation returns the value of the label on the objects of an installation. It is empty for the default controller name.
func Installation(controller gwv1.GatewayController) string {
	if controller == "" || controller == ControllerName {
		return ""
	}
	return ir.Installation(string(controller))
}

// Resolved is a resolved GatewayClass.
type Resolved struct {
	// Ours reports whether the class selects this installation.
	Ours bool
	// Foreign reports whether the class selects another controller.
	Foreign bool
	// Parameters is the key of the ProxyConfig of the class, empty for none, and Problem what is wrong with it.
	Parameters string
	Problem    string
	// DefaultGateways reports whether Gateways of the class may take routes that do not name them.
	DefaultGateways bool
	// HostPorts reports whether Gateways of the class may open their ports on nodes.
	HostPorts bool
	// PortsPerNamespace limits the ports that the Gateways of one namespace have together on a shared fleet of the class.
	PortsPerNamespace int
	Outcome           outcome.Class
}

// defaultPortsPerNamespace is [Resolved.PortsPerNamespace] if the class does not set it.
const defaultPortsPerNamespace = 1024

// Resolve resolves the GatewayClass of that name.
func Resolve(v *store.View, objects *store.Objects, name string) Resolved {
	class, ok := objects.GatewayClasses.Get(v, name)
	if !ok || class.Spec.ControllerName != Controller(objects) {
		return Resolved{Foreign: ok}
	}
	accepted := outcome.Condition{
		Type:    string(gwv1.GatewayClassConditionStatusAccepted),
		State:   outcome.True,
		Reason:  string(gwv1.GatewayClassReasonAccepted),
		Message: "Gatewright serves the Gateways of this class",
	}
	parameters, problem := parameters(v, objects, class)
	if problem != "" {
		accepted.State = outcome.False
		accepted.Reason = string(gwv1.GatewayClassReasonInvalidParameters)
		accepted.Message = problem + "; until then the fleets of this class stay as they are, and there are no new ones"
	}
	var spec v1alpha1.ProxyConfigSpec
	if config, ok := objects.ProxyConfigs.Get(v, parameters); ok {
		spec = config.Spec
	}
	return Resolved{
		Ours:              true,
		Parameters:        parameters,
		Problem:           problem,
		DefaultGateways:   ptr.Deref(spec.DefaultGateways, "") == v1alpha1.DefaultGatewaysAllowed,
		HostPorts:         ptr.Deref(spec.HostPorts, "") == v1alpha1.HostPortsAllowed,
		PortsPerNamespace: portsPerNamespace(spec),
		Outcome: outcome.Class{
			Generation: class.Generation,
			Conditions: []outcome.Condition{accepted, supportedVersion(v, objects)},
			Features:   Features,
		},
	}
}

func portsPerNamespace(spec v1alpha1.ProxyConfigSpec) int {
	limit := ptr.Deref(spec.Limits, v1alpha1.Limits{}).PortsPerNamespace
	return int(cmp.Or(ptr.Deref(limit, 0), defaultPortsPerNamespace))
}
