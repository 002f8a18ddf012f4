package render

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// The labels of a fleet's objects that others look for.
const (
	// GatewayNameLabel holds [LabelValue] of the Gateway's name, as GEP-1762 asks.
	GatewayNameLabel = "gateway.networking.k8s.io/gateway-name"

	gatewayClassLabel = "gateway.networking.k8s.io/gateway-class-name"

	nameLabel = "app.kubernetes.io/name"
	// ComponentLabel is [Component] on the objects of a fleet.
	ComponentLabel = "app.kubernetes.io/component"
	Component      = "proxy"
)

// The owner of a fleet's objects.
const (
	OwnerAPIVersion = "gateway.networking.k8s.io/v1"
	OwnerKind       = "Gateway"
)

// FieldOwner is the name under which Gatewright owns fields of the objects it applies.
const FieldOwner = "gatewright"

// bootstrapHash on the pods makes a change of what Envoy starts with roll them; the authorities are not part of it.
const bootstrapHash = "gatewright.dev/bootstrap-hash"

// labels are the Gateway's own with ours over them.
func labels(gateway ir.Gateway) map[string]string {
	return installed(gateway, over(chosen(gateway, gateway.Fleet.Labels), identityLabels(gateway)))
}

// serviceLabels are those of the Service, which a Gateway may label wherever it is.
func serviceLabels(gateway ir.Gateway) map[string]string {
	return installed(gateway, over(gateway.Fleet.Labels, identityLabels(gateway)))
}

// installed adds the label of the installation, which no user can set.
func installed(gateway ir.Gateway, all map[string]string) map[string]string {
	delete(all, ir.InstallationLabel)
	if gateway.Fleet.Installation != "" {
		all[ir.InstallationLabel] = gateway.Fleet.Installation
	}
	return all
}

// chosen are the labels or annotations that a Gateway chooses for objects other than its Service. In Gatewright's namespace there are
// none: webhooks, cloud identities and NetworkPolicies act on those of pods and ServiceAccounts.
func chosen(gateway ir.Gateway, wanted map[string]string) map[string]string {
	if gateway.Fleet.OtherNamespace != "" {
		return nil
	}
	return wanted
}

// over lays maps over one another, the last one on top.
func over(layers ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	return all
}

// identityLabels say what an object is and whose. No user can set them.
func identityLabels(gateway ir.Gateway) map[string]string {
	all := map[string]string{
		nameLabel:         "envoy",
		ComponentLabel:    Component,
		gatewayClassLabel: LabelValue(gateway.Fleet.Class),
	}
	if gateway.Name != ir.SharedFleet(gateway.Fleet.Class) {
		all[GatewayNameLabel] = LabelValue(gateway.Name.Name)
	}
	if gateway.Fleet.OtherNamespace != "" {
		all[ir.OwnerLabel] = gateway.Fleet.UID
	}
	maps.Copy(all, selector(gateway.Fleet.Name))
	return all
}

// annotations are the Gateway's own, and whose the object is where no owner can say so.
func annotations(gateway ir.Gateway) map[string]string {
	return ownedAnnotations(gateway, chosen(gateway, gateway.Fleet.Annotations))
}

// serviceAnnotations are those of the Service: the Gateway's with the parameters' over them.
func serviceAnnotations(gateway ir.Gateway) map[string]string {
	return ownedAnnotations(gateway, over(gateway.Fleet.Annotations, gateway.Fleet.Proxies.Service.Annotations))
}

// reservedDomains are those of annotations by which Kubernetes' own controllers keep their state, or by which a pod leaves the Pod Security
// Standards. A Gateway cannot set them.
var reservedDomains = []string{
	"container.apparmor.security.beta.kubernetes.io",
	"container.seccomp.security.alpha.kubernetes.io", "seccomp.security.alpha.kubernetes.io",
	"deployment.kubernetes.io", "deprecated.daemonset.template.generation", "autoscaling.alpha.kubernetes.io", "controller.kubernetes.io",
}

func reserved(annotation string) bool {
	domain, _, _ := strings.Cut(annotation, "/")
	return slices.Contains(reservedDomains, domain)
}

func ownedAnnotations(gateway ir.Gateway, wanted map[string]string) map[string]string {
	all := over(wanted)
	maps.DeleteFunc(all, func(key, _ string) bool { return reserved(key) })
	if gateway.Fleet.OtherNamespace != "" {
		all[ir.OwnerAnnotation] = gateway.Name.String()
	}
	return all
}

// selector can never change once a Deployment exists, so it is only what tells one fleet from another.
func selector(fleet string) map[string]string {
	return map[string]string{ir.ManagedByLabel: ir.ManagedBy, ir.InstanceLabel: fleet}
}

// BackingFleet is the name of the fleet whose pods serve a Gateway: its own, or the shared one of its class.
func BackingFleet(gateway ir.Gateway) string {
	if gateway.Fleet.Shared != (ir.Name{}) {
		return ir.SharedFleetName(gateway.Fleet.Class)
	}
	return gateway.Fleet.Name
}

// owners makes the objects leave with their Gateway, if they are in its namespace; Gatewright removes others. It does not block the
// Gateway's deletion: that would need a right on its finalizers.
func owners(gateway ir.Gateway) []*applymetav1.OwnerReferenceApplyConfiguration {
	if gateway.Fleet.OtherNamespace != "" {
		return nil
	}
	return []*applymetav1.OwnerReferenceApplyConfiguration{applymetav1.OwnerReference().
		WithAPIVersion(OwnerAPIVersion).
		WithKind(OwnerKind).
		WithName(gateway.Name.Name).
		WithUID(types.UID(gateway.Fleet.UID)).
		WithController(true)}
}

// OwnerOf is the Gateway whose fleet an object belongs to, or the [ir.SharedFleet], and its UID. An object without an owner has one if it
// is in Gatewright's own namespace and says so.
func OwnerOf(object metav1.Object, system string) (gateway ir.Name, uid string, ok bool) {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return ir.Name{Namespace: object.GetNamespace(), Name: owner.Name}, string(owner.UID), owner.Kind == OwnerKind
	}
	name, uid := object.GetAnnotations()[ir.OwnerAnnotation], object.GetLabels()[ir.OwnerLabel]
	return ir.ParseName(name), uid, object.GetNamespace() == system && name != "" && uid != ""
}

// Selector chooses the objects that an installation of Gatewright made, see [ir.Installation].
func Selector(installation string) klabels.Selector {
	ours := klabels.Set{ir.ManagedByLabel: ir.ManagedBy}
	if installation != "" {
		ours[ir.InstallationLabel] = installation
		return klabels.SelectorFromSet(ours)
	}
	others, err := klabels.NewRequirement(ir.InstallationLabel, selection.DoesNotExist, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	return klabels.SelectorFromSet(ours).Add(*others)
}

// maxLabelValue is the longest value a label may have; names of Gateways and classes may be longer.
const maxLabelValue = 63

// LabelValue is the name, shortened with a hash of the whole where it is too long for a label. Users choose what is cut off, so the hash is
// one for which no other name with the same value can be found.
func LabelValue(name string) string {
	if len(name) <= maxLabelValue {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "-" + hex.EncodeToString(sum[:10])
	return strings.TrimRight(name[:maxLabelValue-len(suffix)], "-.") + suffix
}
