package gateway

import (
	"fmt"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// placeAbroad has a Gateway's proxies run in Gatewright's namespace.
func placeAbroad(gateway *ir.Gateway, system string) string {
	if system == "" {
		return fmt.Sprintf("placement %s needs Gatewright to watch its own namespace; add it to watchNamespaces of the chart", v1alpha1.PlacementGatewrightNamespace)
	}
	if system != gateway.Name.Namespace {
		gateway.Fleet.Abroad, gateway.Fleet.Name = system, ir.SystemFleetName(gateway.Name, gateway.Fleet.Class)
	}
	return ""
}

// findAbroad finds out whether the proxies of a Gateway, whose parameters do not say now where they should be, run in Gatewright's namespace.
func findAbroad(v *store.View, objects *store.Objects, gateway *ir.Gateway) {
	abroad := *gateway
	if placeAbroad(&abroad, objects.System) != "" || abroad.Fleet.Abroad == "" {
		return
	}
	service, ok := objects.Services.Get(v, store.Key(abroad.Fleet.Abroad, abroad.Fleet.Name))
	if ok && ownedBy(service, abroad) {
		*gateway = abroad
	}
}

// foreignPlacement finds a Gateway that chooses for itself what is for whoever made the class to say: that its proxies run in Gatewright's namespace, beside those of others and
// Gatewright's own Secrets, and there any change to their pods.
func foreignPlacement(own, class v1alpha1.ProxyConfigSpec, key string) string {
	switch {
	case own.Placement != nil && *own.Placement != value(class.Placement):
		return fmt.Sprintf("ProxyConfig %s has placement, which only the ProxyConfig of a GatewayClass can choose; leave it out", key)
	case own.Patches != nil && value(class.Placement) == v1alpha1.PlacementGatewrightNamespace:
		return fmt.Sprintf("ProxyConfig %s has patches, and the class has the proxies run in Gatewright's namespace, where only the ProxyConfig of the class can have some; leave them out", key)
	case own.Pod != nil && (own.Pod.Image != nil || own.Pod.ImagePullSecrets != nil) && value(class.Placement) == v1alpha1.PlacementGatewrightNamespace:
		return fmt.Sprintf("ProxyConfig %s has an image of its own, and the class has the proxies run in Gatewright's namespace, where only the ProxyConfig of the class can choose one; leave it out", key)
	default:
		return ""
	}
}
