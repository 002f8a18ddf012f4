package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// isAbroad says whether proxies run in Gatewright's namespace.
func isAbroad(placement v1alpha1.Placement) bool {
	return placement == v1alpha1.PlacementGatewrightNamespace || placement == v1alpha1.PlacementShared
}

// placed is the namespace that the class of a Gateway has its proxies run in, whatever else is wrong with the parameters.
func placed(s settings, own, system string) string {
	switch {
	case s.unplaced:
		return ""
	case isAbroad(s.placement):
		return cmp.Or(system, ir.Nowhere)
	default:
		return own
	}
}

// place has a Gateway's proxies run where its class says. It says what is wrong with that.
func place(gateway *ir.Gateway, placement v1alpha1.Placement, system string) string {
	switch {
	case !isAbroad(placement):
		return ""
	case system == "":
		return fmt.Sprintf("placement %s needs Gatewright to watch its own namespace; add it to watchNamespaces of the chart", placement)
	}
	placeAbroad(gateway, system)
	if placement == v1alpha1.PlacementShared {
		gateway.Fleet.Shared = ir.SharedFleet(gateway.Fleet.Class)
	}
	return filesAbroad(&gateway.Fleet)
}

// placeAbroad puts the objects of a Gateway into Gatewright's namespace.
func placeAbroad(gateway *ir.Gateway, system string) {
	if system != gateway.Name.Namespace {
		gateway.Fleet.Abroad, gateway.Fleet.Name = system, ir.SystemFleetName(gateway.Name, gateway.Fleet.Class)
	}
}

// findAbroad finds out where the proxies of a Gateway run whose parameters do not say now where they should be, by the Service that it
// has in Gatewright's namespace.
func findAbroad(v *store.View, objects *store.Objects, gateway *ir.Gateway) {
	if objects.System == "" {
		return
	}
	found := *gateway
	placeAbroad(&found, objects.System)
	service, ok := objects.Services.Get(v, fleetKey(found))
	if !ok || found.FleetNamespace() != objects.System || !ownedBy(service, found) {
		return
	}
	if leadsToShared(service, found.Fleet.Class) {
		found.Fleet.Shared = ir.SharedFleet(found.Fleet.Class)
	}
	*gateway = found
}

// foreignChoice finds a Gateway that chooses for itself what is for whoever made the class to say: where its proxies run, whether routes
// come to it unasked and, if the proxies run in Gatewright's namespace, anything about them. There they run beside Gatewright, its
// Secrets and the proxies of others, and no quota of the Gateway's namespace counts.
func foreignChoice(own v1alpha1.ProxyConfigSpec, s settings, class ResolvedClass, key string) string {
	var field string
	switch {
	case own.Placement != nil && *own.Placement != s.placement:
		field = "placement"
	case own.DefaultGateways != nil && (*own.DefaultGateways == v1alpha1.DefaultGatewaysAllowed) != class.DefaultGateways:
		field = "defaultGateways"
	case own.HostPorts != nil && (*own.HostPorts == v1alpha1.HostPortsAllowed) != class.HostPorts:
		field = "hostPorts"
	case isAbroad(s.placement):
		return foreignFields(own, s.placement, key)
	default:
		return foreignHostPorts(own, s, class, key)
	}
	return fmt.Sprintf("ProxyConfig %s has %s, which only the ProxyConfig of a GatewayClass can choose; leave it out", key, field)
}

// ofEach is what every Gateway has for itself wherever its proxies run, and behind it what it may repeat.
var ofEach = []string{"service", "accessLogs", "tracing", "placement", "defaultGateways", "hostPorts"}

// foreignFields finds a Gateway that says something about proxies which are not its own to run.
func foreignFields(own v1alpha1.ProxyConfigSpec, class v1alpha1.Placement, key string) string {
	fields, err := toMap(own)
	if err != nil {
		return fmt.Sprintf("ProxyConfig %s: %v", key, err)
	}
	foreign := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(field string) bool { return slices.Contains(ofEach, field) })
	if len(foreign) == 0 {
		return foreignText(own, key)
	}
	why := "the class has the proxies run in Gatewright's namespace"
	if class == v1alpha1.PlacementShared {
		why = "the Gateways of the class share their proxies"
	}
	return fmt.Sprintf("ProxyConfig %s has %s, and %s; move that to the ProxyConfig of the class, and leave only %s here",
		key, strings.Join(foreign, ", "), why, strings.Join(ofEach[:3], ", "))
}

// foreignText finds a Gateway that would write lines of its own making to where others write theirs, and could pass them off as theirs.
func foreignText(own v1alpha1.ProxyConfigSpec, key string) string {
	for i, log := range own.AccessLogs {
		if log.Type == v1alpha1.TextAccessLog {
			return fmt.Sprintf("ProxyConfig %s has accessLogs[%d] of type Text, and the Gateways of the class share their proxies and where these write; use JSON or OTLP, or move it to the ProxyConfig of the class", key, i)
		}
	}
	return ""
}

// withoutText leaves out what [foreignText] refuses. Where nothing is left, that of the class counts.
func withoutText(logs []v1alpha1.AccessLog) []v1alpha1.AccessLog {
	left := slices.DeleteFunc(slices.Clone(logs), func(log v1alpha1.AccessLog) bool { return log.Type == v1alpha1.TextAccessLog })
	if len(left) == 0 && len(logs) > 0 {
		return nil
	}
	return left
}
