package refs

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// AuthoritiesOf follows references to certificates of authorities and returns the name of the bundle they make together, see
// [AuthoritiesNamed]. Neither a reference that leads nowhere nor a certificate that cannot be read takes the others with it: the name is
// empty only if none is good, and the problem is the first one.
func AuthoritiesOf(v *store.View, objects *store.Objects, from Origin, list []gwv1.ObjectReference) (string, *Problem) {
	var sources []string
	var first *Problem
	size := 0
	for _, ref := range list {
		target := Target{Kind: string(ref.Kind), Namespace: valueOr(ref.Namespace, from.Namespace), Name: string(ref.Name)}
		if clusterWide(string(ref.Group), target.Kind) {
			target.Namespace = valueOr(ref.Namespace, "")
		}
		text, problem := checkAuthorities(v, objects, from, string(ref.Group), target)
		if size+len(text) > maxBundle {
			text, problem = nil, &Problem{Reason: reasonInvalidAuthorities, Message: fmt.Sprintf(
				"the certificates of %s %s have no room beside those before: together they may have %d bytes; refer to fewer",
				target.Kind, target.Name, maxBundle)}
		}
		if len(text) > 0 {
			size += len(text)
			sources = append(sources, authoritiesSource(target))
		}
		if first == nil {
			first = problem
		}
	}
	slices.Sort(sources)
	return strings.Join(slices.Compact(sources), bundleSeparator), first
}

// checkAuthorities returns the certificates that a reference leads to, and what is wrong with it.
func checkAuthorities(v *store.View, objects *store.Objects, from Origin, group string, target Target) ([]byte, *Problem) {
	if !HoldsAuthorities(group, target.Kind) {
		return nil, &Problem{
			Reason: string(gwv1.ListenerReasonInvalidCACertificateKind),
			Message: fmt.Sprintf("CA certificate %s has kind %q in group %q, which is not served; refer to a ConfigMap or a ClusterTrustBundle",
				target.Name, target.Kind, group),
		}
	}
	switch {
	case clusterWide(group, target.Kind) && target.Namespace != "":
		return nil, &Problem{
			Reason:  reasonInvalidAuthorities,
			Message: fmt.Sprintf("%s %s belongs to no namespace; refer to it without one", target.Kind, target.Name),
		}
	case !clusterWide(group, target.Kind) && !Permitted(v, objects, from, target):
		return nil, &Problem{
			Reason: string(gwv1.ListenerReasonRefNotPermitted),
			Message: fmt.Sprintf("no ReferenceGrant in namespace %s allows a %s of namespace %s to refer to %s %s/%s",
				target.Namespace, from.Kind, from.Namespace, target.Kind, target.Namespace, target.Name),
		}
	}
	return Authorities(v, objects, target)
}

// AuthoritiesNamed reads a bundle by the name that [AuthoritiesOf] or [WithRevocations] gave it. The caller has checked that the references
// are permitted.
func AuthoritiesNamed(v *store.View, objects *store.Objects, name string) (ir.Authorities, *Problem) {
	bundle := ir.Authorities{Name: name}
	authorities, lists, _ := strings.Cut(name, revocationSeparator)
	for source := range strings.SplitSeq(authorities, bundleSeparator) {
		certificates, problem := Authorities(v, objects, authoritiesTarget(source))
		if certificates == nil {
			return ir.Authorities{}, problem
		}
		bundle.PEM = append(bundle.PEM, certificates...)
	}
	var problem *Problem
	if bundle.Revocations, problem = revocationsNamed(v, objects, lists); problem != nil {
		return ir.Authorities{}, problem
	}
	return bundle, nil
}

// bundleSeparator joins the sources of a bundle in its name. No name of a Kubernetes object holds it.
const bundleSeparator = "+"

// authoritiesSource is `<kind>/<namespace>/<name>`, with an empty namespace for what is cluster-wide, which no [ir.Certificate] is called.
func authoritiesSource(t Target) string { return t.Kind + "/" + t.Namespace + "/" + t.Name }

// authoritiesTarget is the inverse of authoritiesSource.
func authoritiesTarget(source string) Target {
	kind, key, _ := strings.Cut(source, "/")
	namespace, name := store.SplitKey(key)
	return Target{Kind: kind, Namespace: namespace, Name: name}
}
