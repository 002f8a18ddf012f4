package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// place has a Gateway's proxies run where its class says. It says what is wrong with that.
func place(gateway *ir.Gateway, placement v1alpha1.Placement, system string) string {
	abroad := placement == v1alpha1.PlacementGatewrightNamespace || placement == v1alpha1.PlacementShared
	switch {
	case !abroad:
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

// findAbroad finds out where the proxies of a Gateway run whose parameters do not say now where they should be, by the Service that it has in Gatewright's namespace.
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

// foreignPlacement finds a Gateway that chooses for itself what is for whoever made the class to say: that its proxies run in Gatewright's namespace, beside those of others and
// Gatewright's own Secrets, and there any change to their pods; and where they are shared, anything about them.
func foreignPlacement(own v1alpha1.ProxyConfigSpec, class v1alpha1.Placement, key string) string {
	switch {
	case own.Placement != nil && *own.Placement != class:
		return fmt.Sprintf("ProxyConfig %s has placement, which only the ProxyConfig of a GatewayClass can choose; leave it out", key)
	case class == v1alpha1.PlacementShared:
		return foreignSharing(own, key)
	case own.Patches != nil && class == v1alpha1.PlacementGatewrightNamespace:
		return fmt.Sprintf("ProxyConfig %s has patches, and the class has the proxies run in Gatewright's namespace, where only the ProxyConfig of the class can have some; leave them out", key)
	case own.Pod != nil && (own.Pod.Image != nil || own.Pod.ImagePullSecrets != nil) && class == v1alpha1.PlacementGatewrightNamespace:
		return fmt.Sprintf("ProxyConfig %s has an image of its own, and the class has the proxies run in Gatewright's namespace, where only the ProxyConfig of the class can choose one; leave it out", key)
	default:
		return ""
	}
}

// ofEach is what every Gateway has for itself, though it shares its proxies.
var ofEach = []string{"service", "accessLogs", "tracing", "placement"}

// foreignSharing finds a Gateway that says something about proxies which are not its own.
func foreignSharing(own v1alpha1.ProxyConfigSpec, key string) string {
	fields, err := toMap(own)
	if err != nil {
		return fmt.Sprintf("ProxyConfig %s: %v", key, err)
	}
	foreign := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(field string) bool { return slices.Contains(ofEach, field) })
	if len(foreign) == 0 {
		return ""
	}
	return fmt.Sprintf("ProxyConfig %s has %s, and the Gateways of the class share their proxies; move that to the ProxyConfig of the class, and leave only %s here",
		key, strings.Join(foreign, ", "), strings.Join(ofEach[:3], ", "))
}
