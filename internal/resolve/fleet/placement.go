package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/proxyconfig"
	"github.com/gatewright/gatewright/internal/store"
)

// inSystemNamespace reports whether proxies run in Gatewright's namespace.
func inSystemNamespace(placement v1alpha1.Placement) bool {
	return placement == v1alpha1.PlacementGatewrightNamespace || placement == v1alpha1.PlacementShared
}

// placed returns the namespace in which the class places the proxies of a Gateway, whatever else is wrong with the parameters.
func placed(s settings, own, system string) string {
	switch {
	case s.placementUnknown:
		return ""
	case inSystemNamespace(s.placement):
		return cmp.Or(system, ir.NoNamespace)
	default:
		return own
	}
}

// place places a Gateway's proxies as its class says. It returns a message if that is not possible.
func place(gateway *ir.Gateway, placement v1alpha1.Placement, system string) string {
	switch {
	case !inSystemNamespace(placement):
		return ""
	case system == "":
		return fmt.Sprintf("placement %s needs Gatewright to watch its own namespace; add it to watchNamespaces of the chart", placement)
	}
	placeInSystemNamespace(gateway, system)
	if placement == v1alpha1.PlacementShared {
		gateway.Fleet.Shared = ir.SharedFleet(gateway.Fleet.Class)
	}
	return filesOutsideNamespace(&gateway.Fleet)
}

// placeInSystemNamespace moves the objects of a Gateway to Gatewright's namespace.
func placeInSystemNamespace(gateway *ir.Gateway, system string) {
	if system != gateway.Name.Namespace {
		gateway.Fleet.OtherNamespace, gateway.Fleet.Name = system, ir.SystemFleetName(gateway.Name, gateway.Fleet.Class)
	}
}

// findInSystemNamespace places a Gateway whose parameters cannot be used. Its Service in Gatewright's namespace shows where its proxies
// run.
func findInSystemNamespace(v *store.View, objects *store.Objects, gateway *ir.Gateway) {
	if objects.System == "" {
		return
	}
	found := *gateway
	placeInSystemNamespace(&found, objects.System)
	service, ok := objects.Services.Get(v, Key(found))
	if !ok || found.FleetNamespace() != objects.System || !ownedBy(service, found) {
		return
	}
	if servedByShared(service, found.Fleet.Class) {
		found.Fleet.Shared = ir.SharedFleet(found.Fleet.Class)
	}
	*gateway = found
}

// classOnlyChoice finds a setting that only the class can choose: where proxies run, whether the Gateway takes routes that do not name it
// and, if proxies run in Gatewright's namespace, how they run. There they run beside Gatewright, its Secrets and the proxies of other
// Gateways, and the quota of the Gateway's namespace does not apply.
func classOnlyChoice(own v1alpha1.ProxyConfigSpec, s settings, class class.Resolved, key string) string {
	var field string
	switch {
	case own.Placement != nil && *own.Placement != s.placement:
		field = "placement"
	case own.DefaultGateways != nil && (*own.DefaultGateways == v1alpha1.DefaultGatewaysAllowed) != class.DefaultGateways:
		field = "defaultGateways"
	case own.HostPorts != nil && (*own.HostPorts == v1alpha1.HostPortsAllowed) != class.HostPorts:
		field = "hostPorts"
	case inSystemNamespace(s.placement):
		return classOnlyFields(own, s.placement, key)
	default:
		return classOnlyHostPorts(own, s, class, key)
	}
	return fmt.Sprintf("ProxyConfig %s has %s, which only the ProxyConfig of a GatewayClass can choose; leave it out", key, field)
}

// gatewayFields can be set by a Gateway wherever its proxies run. The last three may only repeat what the class says.
var gatewayFields = []string{"service", "accessLogs", "tracing", "placement", "defaultGateways", "hostPorts"}

// classOnlyFields finds settings of proxies that run in Gatewright's namespace.
func classOnlyFields(own v1alpha1.ProxyConfigSpec, class v1alpha1.Placement, key string) string {
	fields, err := proxyconfig.Fields(own)
	if err != nil {
		return fmt.Sprintf("ProxyConfig %s: %v", key, err)
	}
	foreign := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(field string) bool { return slices.Contains(gatewayFields, field) })
	if len(foreign) == 0 {
		return classOnlyTextLog(own, key)
	}
	why := "the class has the proxies run in Gatewright's namespace"
	if class == v1alpha1.PlacementShared {
		why = "the Gateways of the class share their proxies"
	}
	return fmt.Sprintf("ProxyConfig %s has %s, and %s; move that to the ProxyConfig of the class, and leave only %s here",
		key, strings.Join(foreign, ", "), why, strings.Join(gatewayFields[:3], ", "))
}

// classOnlyTextLog finds a Text access log. Its lines could pass for those of another Gateway that shares the proxies.
func classOnlyTextLog(own v1alpha1.ProxyConfigSpec, key string) string {
	for i, log := range own.AccessLogs {
		if log.Type == v1alpha1.TextAccessLog {
			return fmt.Sprintf("ProxyConfig %s has accessLogs[%d] of type Text, and the Gateways of the class share their proxies and where "+
				"these write; use JSON or OTLP, or move it to the ProxyConfig of the class", key, i)
		}
	}
	return ""
}

// withoutText leaves out what [classOnlyTextLog] rejects. If nothing is left, the logs of the class apply.
func withoutText(logs []v1alpha1.AccessLog) []v1alpha1.AccessLog {
	left := slices.DeleteFunc(slices.Clone(logs), func(log v1alpha1.AccessLog) bool { return log.Type == v1alpha1.TextAccessLog })
	if len(left) == 0 && len(logs) > 0 {
		return nil
	}
	return left
}
