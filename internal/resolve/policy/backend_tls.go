package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedBackendTLS is what a BackendTLSPolicy asks for, whether or not it is the one that decides. Its spec is refused where the policy
// cannot be served.
type ResolvedBackendTLS = attach.Policy[ir.BackendTLS]

var backendTLSKind = attach.Kind[ir.BackendTLS]{
	Name:         string(store.BackendTLSPolicy),
	Targets:      []attach.TargetKind{attach.Services, attach.ServiceImports},
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
	if reason := store.Unreadable(p); reason != "" {
		r.Spec = ir.BackendTLS{FailClosed: true, Origin: ir.ObjectRef{Kind: string(store.BackendTLSPolicy), Name: ir.ParseName(key)}}
		r.Accepted = &refs.Problem{
			Reason: string(gwv1.PolicyReasonInvalid),
			Message: "the policy cannot be read, so requests are answered 503; correct it, or install the definitions that belong to this " +
				"version of Gatewright: " + reason,
		}
		return r
	}
	r.Spec = ir.BackendTLS{ServerName: string(p.Spec.Validation.Hostname), SubjectNames: backend.SubjectNames(&p.Spec.Validation)}
	from := refs.Origin{Kind: string(store.BackendTLSPolicy), Namespace: p.Namespace}
	r.Spec.Authorities, r.Accepted, r.ResolvedRefs = backend.Trust(v, objects, from, &p.Spec.Validation)
	if r.Accepted != nil {
		r.Spec = ir.BackendTLS{FailClosed: true}
	}
	r.Spec.Origin = ir.ObjectRef{Kind: string(store.BackendTLSPolicy), Name: ir.ParseName(key)}
	return r
}

// BrokenBackendTLS is a policy whose resolution panicked. It is not known what it asks for, so its targets get no connection.
func BrokenBackendTLS(v *store.View, objects *store.Objects, key string) ResolvedBackendTLS {
	p, ok := objects.BackendTLSPolicies.Get(v, key)
	if !ok {
		return ResolvedBackendTLS{}
	}
	r := attachedTLS(p)
	r.Spec = ir.BackendTLS{FailClosed: true, Origin: ir.ObjectRef{Kind: string(store.BackendTLSPolicy), Name: ir.ParseName(key)}}
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
			Group: string(ref.Group), Kind: string(ref.Kind), Name: string(ref.Name), Section: string(ptr.Deref(ref.SectionName, "")),
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
