package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedBackendTLS is what a BackendTLSPolicy asks for, whether or not it is the one that decides.
type ResolvedBackendTLS struct {
	// Key and Created take part in precedence: the older policy wins, then the one whose name sorts first.
	Key     string
	Created int64
	// Targets are in the order of the spec.
	Targets []Target
	// TLS is refused where the policy can not be served.
	TLS ir.BackendTLS
	// Accepted says why the policy can not be served, ResolvedRefs what is wrong with its references; nil if nothing is.
	Accepted     *refs.Problem
	ResolvedRefs *refs.Problem
	// Ignored are the options that mean nothing to us, sorted.
	Ignored    []string
	Generation int64
}

// Target is a Service, or one port of it.
type Target struct {
	// Service is `namespace/name`. It is empty for a target that is no Service, which Kind then describes.
	Service string
	Kind    string
	// Section is the name of a port, empty for all ports.
	Section string
}

// BackendTLS resolves the BackendTLSPolicy of that key.
func BackendTLS(v *store.View, objects *store.Objects, key string) ResolvedBackendTLS {
	p, ok := objects.BackendTLSPolicies.Get(v, key)
	if !ok {
		return ResolvedBackendTLS{}
	}
	r := ResolvedBackendTLS{
		Key: key, Created: p.CreationTimestamp.Unix(), Targets: targets(p), Generation: p.Generation,
		TLS: ir.BackendTLS{ServerName: string(p.Spec.Validation.Hostname), SubjectNames: subjectNames(&p.Spec.Validation)},
	}
	for _, option := range slices.Sorted(maps.Keys(p.Spec.Options)) {
		r.Ignored = append(r.Ignored, string(option))
	}
	r.takeTrust(v, objects, p)
	if r.Accepted != nil {
		r.TLS = ir.BackendTLS{Refused: true}
	}
	r.TLS.Origin = string(store.BackendTLSPolicy) + "/" + key
	return r
}

// BrokenBackendTLS is a policy whose resolution panicked. It is not known what it asks for, so its targets get no connection.
func BrokenBackendTLS(v *store.View, objects *store.Objects, key string) ResolvedBackendTLS {
	p, ok := objects.BackendTLSPolicies.Get(v, key)
	if !ok {
		return ResolvedBackendTLS{}
	}
	return ResolvedBackendTLS{
		Key: key, Created: p.CreationTimestamp.Unix(), Targets: targets(p), Generation: p.Generation,
		TLS:      ir.BackendTLS{Refused: true, Origin: string(store.BackendTLSPolicy) + "/" + key},
		Accepted: &refs.Problem{Reason: outcome.InternalError, Message: "Gatewright failed to process the policy, so requests are answered 503; please report it as a bug"},
	}
}

func targets(p *gwv1.BackendTLSPolicy) []Target {
	list := make([]Target, 0, len(p.Spec.TargetRefs))
	for _, ref := range p.Spec.TargetRefs {
		t := Target{Kind: strings.TrimPrefix(string(ref.Group)+"/"+string(ref.Kind), "/")}
		if ref.Group == "" && ref.Kind == "Service" {
			t.Service = store.Key(p.Namespace, string(ref.Name))
		}
		if ref.SectionName != nil {
			t.Section = string(*ref.SectionName)
		}
		list = append(list, t)
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

// takeTrust decides whom to trust.
func (r *ResolvedBackendTLS) takeTrust(v *store.View, objects *store.Objects, p *gwv1.BackendTLSPolicy) {
	from := refs.Origin{Kind: string(store.BackendTLSPolicy), Namespace: p.Namespace}
	r.TLS.Authorities, r.Accepted, r.ResolvedRefs = trust(v, objects, from, &p.Spec.Validation)
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
