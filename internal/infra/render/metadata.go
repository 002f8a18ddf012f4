package render

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// The labels of a fleet's objects that others look for.
const (
	// ManagedByLabel is [ManagedBy] on everything that is Gatewright's.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "gatewright"
	// GatewayNameLabel holds [LabelValue] of the Gateway's name, as GEP-1762 asks.
	GatewayNameLabel = "gateway.networking.k8s.io/gateway-name"

	gatewayClassLabel = "gateway.networking.k8s.io/gateway-class-name"
	instanceLabel     = "app.kubernetes.io/instance"
)

// bootstrapHash on the pods makes a change of what Envoy starts with roll them; the authorities are not part of it.
const bootstrapHash = "gatewright.dev/bootstrap-hash"

// labels are the Gateway's own with ours over them.
func labels(gateway ir.Gateway) map[string]string {
	all := map[string]string{}
	maps.Copy(all, gateway.Fleet.Labels)
	maps.Copy(all, identityLabels(gateway))
	return all
}

// identityLabels say what an object is and whose. Nobody else can set them.
func identityLabels(gateway ir.Gateway) map[string]string {
	all := map[string]string{
		"app.kubernetes.io/name":      "envoy",
		"app.kubernetes.io/component": "proxy",
		gatewayClassLabel:             LabelValue(gateway.Fleet.Class),
		GatewayNameLabel:              LabelValue(gateway.Name.Name),
	}
	maps.Copy(all, selector(gateway))
	return all
}

// selector can never change once a Deployment exists, so it is only what tells one fleet from another.
func selector(gateway ir.Gateway) map[string]string {
	return map[string]string{ManagedByLabel: ManagedBy, instanceLabel: gateway.Fleet.Name}
}

// owner makes the objects leave with their Gateway. It does not block the Gateway's deletion: that would need a right on its finalizers.
func owner(gateway ir.Gateway) *applymetav1.OwnerReferenceApplyConfiguration {
	return applymetav1.OwnerReference().
		WithAPIVersion("gateway.networking.k8s.io/v1").
		WithKind("Gateway").
		WithName(gateway.Name.Name).
		WithUID(types.UID(gateway.Fleet.UID)).
		WithController(true)
}

// maxLabelValue is the longest value a label may have; names of Gateways and classes may be longer.
const maxLabelValue = 63

// LabelValue is the name, shortened with a hash of the whole where it is too long for a label.
func LabelValue(name string) string {
	if len(name) <= maxLabelValue {
		return name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	suffix := fmt.Sprintf("-%08x", hash.Sum32())
	return strings.TrimRight(name[:maxLabelValue-len(suffix)], "-.") + suffix
}
