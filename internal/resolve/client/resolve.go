package client

import (
	"reflect"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Resolve resolves the ClientTrafficPolicy of that key: its targets, and what is wrong with its settings.
func Resolve(v *store.View, objects *store.Objects, key string) Policy {
	object, ok := objects.ClientTrafficPolicies.Get(v, key)
	if !ok {
		return Policy{}
	}
	p := inherit.New(v, objects, &Kind, object, &object.Spec.PolicyTargets)
	p.Spec, p.Serves = object.Spec, "the settings apply to the listeners of the targets"
	p.Spec.PolicyTargets = v1alpha1.PolicyTargets{}
	c := newConverter(objects)
	c.socket(&p.Spec)
	c.chain(&p.Spec)
	c.Accept(refs.UnknownFields(object))
	if t := p.Spec.TLS; t != nil && t.ClientValidation != nil {
		c.validation(t.ClientValidation)
		bundle, problem := authorities(v, objects, object.Namespace, t.ClientValidation)
		if problem != nil && bundle == "" {
			problem = &refs.Problem{Reason: problem.Reason, Message: problem.Message + "; until then every client of the targets is rejected"}
		}
		p.ResolvedRefs = problem
	}
	if len(c.Problems) > 0 && p.Accepted == nil {
		p.Accepted = &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: strings.Join(c.Problems, "; ")}
	}
	return p
}

// Broken is a policy whose resolution panicked: what it was last. If its settings of TLS were others then, or there is no last one, no
// client of its targets is accepted with TLS.
func Broken(v *store.View, objects *store.Objects, key string, last Policy) Policy {
	object, ok := objects.ClientTrafficPolicies.Get(v, key)
	if !ok {
		return last
	}
	p := inherit.New(v, objects, &Kind, object, &object.Spec.PolicyTargets)
	p.Spec, p.Serves = last.Spec, last.Serves
	if tls := object.Spec.TLS; tls != nil && !reflect.DeepEqual(tls, last.Spec.TLS) {
		// There is no such Secret, so that no certificate is valid.
		unknown := &v1alpha1.ClientValidation{CACertificateRefs: []gwv1.SecretObjectReference{{}}}
		p.Spec.TLS = &v1alpha1.ClientTLS{ClientValidation: unknown}
	}
	return p
}

// authorities follows the references to certificates of authorities, and to lists of what they revoked. The name is empty, and no client
// can be accepted, where no authority is good, or a list is not.
func authorities(v *store.View, objects *store.Objects, namespace string, c *v1alpha1.ClientValidation) (string, *refs.Problem) {
	from := refs.Origin{Group: v1alpha1.GroupName, Kind: Kind.Name, Namespace: namespace}
	bundle, problem := refs.AuthoritiesOf(v, objects, from, references(c.CACertificateRefs))
	if bundle == "" || c.CRL == nil || len(c.CRL.Refs) == 0 {
		return bundle, problem
	}
	all, revocations := refs.WithRevocations(v, objects, from, bundle, references(c.CRL.Refs))
	if revocations != nil {
		problem = revocations
	}
	return all, problem
}

// references are to Secrets unless they say otherwise.
func references(from []gwv1.SecretObjectReference) []gwv1.ObjectReference {
	list := make([]gwv1.ObjectReference, 0, len(from))
	for _, ref := range from {
		kind := gwv1.Kind(store.Secret)
		if ref.Kind != nil {
			kind = *ref.Kind
		}
		list = append(list, gwv1.ObjectReference{Group: value(ref.Group), Kind: kind, Name: ref.Name, Namespace: ref.Namespace})
	}
	return list
}
