package backend

import (
	"fmt"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// SubjectNames returns the names that a certificate may have. GEP-1897: the hostname counts only without other names.
func SubjectNames(spec *gwv1.BackendTLSPolicyValidation) []ir.SubjectName {
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

// Trust returns the name of the CA bundle that the references lead to, empty for that of the system. accepted is the problem if there is
// no CA to trust, resolved what is wrong with the references.
func Trust(
	v *store.View, objects *store.Objects, from refs.Origin, spec *gwv1.BackendTLSPolicyValidation,
) (bundle string, accepted, resolved *refs.Problem) {
	known := spec.WellKnownCACertificates
	if len(spec.CACertificateRefs) == 0 {
		if known == nil || *known != gwv1.WellKnownCACertificatesSystem {
			accepted = &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: fmt.Sprintf(
				"wellKnownCACertificates is %q and there are no caCertificateRefs; use %q or refer to a ConfigMap",
				ptr.Deref(known, ""), gwv1.WellKnownCACertificatesSystem)}
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

// authorities returns the name of the bundle that the references lead to, see [refs.AuthoritiesOf].
func authorities(v *store.View, objects *store.Objects, from refs.Origin, local []gwv1.LocalObjectReference) (string, *refs.Problem) {
	list := make([]gwv1.ObjectReference, 0, len(local))
	for _, ref := range local {
		list = append(list, gwv1.ObjectReference{Group: ref.Group, Kind: ref.Kind, Name: ref.Name})
	}
	bundle, problem := refs.AuthoritiesOf(v, objects, from, list)
	if problem != nil && problem.Reason == string(gwv1.ListenerReasonInvalidCACertificateKind) {
		// A listener and a policy have different reasons for it.
		problem = &refs.Problem{Reason: string(gwv1.BackendTLSPolicyReasonInvalidKind), Message: problem.Message}
	}
	return bundle, problem
}
