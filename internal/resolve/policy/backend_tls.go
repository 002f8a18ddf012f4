package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedBackendTLS is what a BackendTLSPolicy asks for, whether or not it is the one that decides. Its spec is refused where the policy
// can not be served.
type ResolvedBackendTLS = attach.Policy[ir.BackendTLS]

var backendTLSKind = attach.Kind[ir.BackendTLS]{
	Name:         string(store.BackendTLSPolicy),
	Targets:      []attach.TargetKind{attach.Services},
	Settings:     []attach.Setting[ir.BackendTLS]{attach.Whole[ir.BackendTLS]("validation")},
	ResolvedRefs: true,
}

// BackendTLS resolves the BackendTLSPolicy of that key.
func BackendTLS(v *store.View, objects *store.Objects, key string) ResolvedBackendTLS {
	p, ok := objects.BackendTLSPolicies.Get(v, key)
	if !ok {
		return ResolvedBackendTLS{}
	}
	r := attachedTLS(p)
	r.Spec = ir.BackendTLS{ServerName: string(p.Spec.Validation.Hostname), SubjectNames: subjectNames(&p.Spec.Validation)}
	from := refs.Origin{Kind: string(store.BackendTLSPolicy), Namespace: p.Namespace}
	r.Spec.Authorities, r.Accepted, r.ResolvedRefs = trust(v, objects, from, &p.Spec.Validation)
	if r.Accepted != nil {
		r.Spec = ir.BackendTLS{Refused: true}
	}
	r.Spec.Origin = string(store.BackendTLSPolicy) + "/" + key
	return r
}

// BrokenBackendTLS is a policy whose resolution panicked. It is not known what it asks for, so its targets get no connection.
func BrokenBackendTLS(v *store.View, objects *store.Objects, key string) ResolvedBackendTLS {
	p, ok := objects.BackendTLSPolicies.Get(v, key)
	if !ok {
		return ResolvedBackendTLS{}
	}
	r := attachedTLS(p)
	r.Spec = ir.BackendTLS{Refused: true, Origin: string(store.BackendTLSPolicy) + "/" + key}
	r.Accepted = &refs.Problem{
		Reason:  outcome.InternalError,
		Message: "Gatewright failed to process the policy, so requests are answered 503; please report it as a bug",
	}
	return r
}

// attachedTLS is all of a policy but what it asks for.
func attachedTLS(p *gwv1.BackendTLSPolicy) ResolvedBackendTLS {
	r := newPolicy(&backendTLSKind, p)
	references := make([]attach.Reference, 0, len(p.Spec.TargetRefs))
	for _, ref := range p.Spec.TargetRefs {
		references = append(references, attach.Reference{
			Group: string(ref.Group), Kind: string(ref.Kind), Name: string(ref.Name), Section: pointed(ref.SectionName),
		})
	}
	r.Targets, r.Excluded = backendTLSKind.Attach(p.Namespace, "", references)
	r.Serves = "connections to the targets are secured as the policy says"
	if len(p.Spec.Options) > 0 {
		r.Notes = append(r.Notes, "these options mean nothing to Gatewright: "+strings.Join(sortedOptions(p.Spec.Options), ", "))
	}
	for _, e := range r.Excluded {
		r.Notes = append(r.Notes, fmt.Sprintf("a target of kind %s is left out, only a Service can be one", e.Target.GroupKind()))
	}
	return r
}

func sortedOptions(options map[gwv1.AnnotationKey]gwv1.AnnotationValue) []string {
	list := make([]string, 0, len(options))
	for _, option := range slices.Sorted(maps.Keys(options)) {
		list = append(list, string(option))
	}
	return list
}

// subjectNames are the names a certificate may have. GEP-1897: the hostname counts only where no other name is given.
func subjectNames(spec *gwv1.BackendTLSPolicyValidation) []ir.SubjectName {
	if len(spec.SubjectAltNames) == 0 {
		return []ir.SubjectName{{Value: string(spec.Hostname)}}
	}
	names := make([]ir.SubjectName, 0, len(spec.SubjectAltNames))
	for _, name := range spec.SubjectAltNames {
		if name.Type == gwv1.URISubjectAltNameType {
			names = append(names, ir.SubjectName{URI: true, Value: string(name.URI)})
		} else {
			names = append(names, ir.SubjectName{Value: string(name.Hostname)})
		}
	}
	return names
}

// trust names the bundle of the authorities that the references lead to, empty for those of the system. It says why there is nobody to
// trust, and what is wrong with the references.
func trust(v *store.View, objects *store.Objects, from refs.Origin, spec *gwv1.BackendTLSPolicyValidation) (bundle string, accepted, resolved *refs.Problem) {
	known := spec.WellKnownCACertificates
	if len(spec.CACertificateRefs) == 0 {
		if known == nil || *known != gwv1.WellKnownCACertificatesSystem {
			accepted = &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: fmt.Sprintf(
				"wellKnownCACertificates is %q and there are no caCertificateRefs; use %q or refer to a ConfigMap",
				pointed(known), gwv1.WellKnownCACertificatesSystem)}
		}
		return "", accepted, nil
	}
	bundle, resolved = authorities(v, objects, from, spec.CACertificateRefs)
	if bundle == "" {
		accepted = &refs.Problem{
			Reason:  string(gwv1.BackendTLSPolicyReasonNoValidCACertificate),
			Message: "no reference of caCertificateRefs leads to a certificate, so requests are answered 503; " + resolved.Message,
		}
	}
	return bundle, accepted, resolved
}

// authorities names the bundle of what the references lead to, see [refs.AuthoritiesOf].
func authorities(v *store.View, objects *store.Objects, from refs.Origin, local []gwv1.LocalObjectReference) (string, *refs.Problem) {
	list := make([]gwv1.ObjectReference, 0, len(local))
	for _, ref := range local {
		list = append(list, gwv1.ObjectReference{Group: ref.Group, Kind: ref.Kind, Name: ref.Name})
	}
	bundle, problem := refs.AuthoritiesOf(v, objects, from, list)
	if problem != nil && problem.Reason == string(gwv1.ListenerReasonInvalidCACertificateKind) {
		// A listener and a policy have different words for it.
		problem = &refs.Problem{Reason: string(gwv1.BackendTLSPolicyReasonInvalidKind), Message: problem.Message}
	}
	return bundle, problem
}

func pointed[T ~string](pointer *T) string {
	if pointer == nil {
		return ""
	}
	return string(*pointer)
}
