package render

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	}
	if gateway.Name != ir.SharedFleet(gateway.Fleet.Class) {
		all[GatewayNameLabel] = LabelValue(gateway.Name.Name)
	}
	if gateway.Fleet.Abroad != "" {
		all[ir.OwnerLabel] = gateway.Fleet.UID
	}
	maps.Copy(all, selector(gateway.Fleet.Name))
	return all
}

// annotations are the Gateway's own with others over them, and whose the object is where no owner can say so.
func annotations(gateway ir.Gateway, others ...map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, gateway.Fleet.Annotations)
	for _, more := range others {
		maps.Copy(all, more)
	}
	if gateway.Fleet.Abroad != "" {
		all[ir.OwnerAnnotation] = gateway.Name.String()
	}
	return all
}

// selector can never change once a Deployment exists, so it is only what tells one fleet from another.
func selector(fleet string) map[string]string {
	return map[string]string{ManagedByLabel: ManagedBy, ir.InstanceLabel: fleet}
}

// Front is the name of the fleet whose pods serve a Gateway, whoever else they serve.
func Front(gateway ir.Gateway) string {
	if gateway.Fleet.Shared != (ir.Name{}) {
		return ir.SharedFleetName(gateway.Fleet.Class)
	}
	return gateway.Fleet.Name
}

// owners makes the objects leave with their Gateway, if they are in its namespace; Gatewright removes others. It does not block the Gateway's deletion: that would need a
// right on its finalizers.
func owners(gateway ir.Gateway) []*applymetav1.OwnerReferenceApplyConfiguration {
	if gateway.Fleet.Abroad != "" {
		return nil
	}
	return []*applymetav1.OwnerReferenceApplyConfiguration{applymetav1.OwnerReference().
		WithAPIVersion("gateway.networking.k8s.io/v1").
		WithKind(gatewayKind).
		WithName(gateway.Name.Name).
		WithUID(types.UID(gateway.Fleet.UID)).
		WithController(true)}
}

const gatewayKind = "Gateway"

// OwnerOf is the Gateway whose fleet an object belongs to, or the [ir.SharedFleet], and its UID. An object without an owner has one if it is in Gatewright's own namespace and says so.
func OwnerOf(object metav1.Object, system string) (gateway ir.Name, uid string, ok bool) {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return ir.Name{Namespace: object.GetNamespace(), Name: owner.Name}, string(owner.UID), owner.Kind == gatewayKind
	}
	name, uid := object.GetAnnotations()[ir.OwnerAnnotation], object.GetLabels()[ir.OwnerLabel]
	return ir.ParseName(name), uid, object.GetNamespace() == system && name != "" && uid != ""
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
