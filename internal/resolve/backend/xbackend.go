package backend

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedXBackend is how proxies connect to an XBackend.
type ResolvedXBackend struct {
	// TLS is nil for plain text. It refuses connections if the settings of the XBackend cannot be served.
	TLS *ir.BackendTLS
	// Hostname is that of an external backend, empty for one with endpoints.
	Hostname string
	// Selector selects its endpoints, nil for an external backend.
	Selector *ir.Selector
	// Accepted says why the XBackend cannot be served, Partial what is wrong with one that is served nevertheless.
	Accepted   *refs.Problem
	Partial    *refs.Problem
	Generation int64
}

// XBackend resolves the XBackend of that key.
func XBackend(v *store.View, objects *store.Objects, key string) ResolvedXBackend {
	b, ok := objects.XBackends.Get(v, key)
	if !ok {
		return ResolvedXBackend{}
	}
	r := ResolvedXBackend{Generation: b.Generation}
	if b.Spec.Type == gwxv1alpha1.BackendTypeExternalHostname && b.Spec.ExternalHostname != nil {
		r.Hostname = string(b.Spec.ExternalHostname.Hostname)
		r.Accepted = checkExternalHostname(objects, r.Hostname)
	} else {
		r.Selector, r.Accepted = selector(b)
	}
	if r.Accepted == nil {
		r.setTLS(v, objects, b)
	}
	if r.Accepted != nil {
		r.TLS = &ir.BackendTLS{FailClosed: true}
	}
	return r
}

// selector reads the label selector of an XBackend. An empty one selects no pods.
func selector(b *gwxv1alpha1.XBackend) (*ir.Selector, *refs.Problem) {
	s := &ir.Selector{
		Backend: ir.BackendTarget{Kind: ir.KindXBackend, Object: ir.Name{Namespace: b.Namespace, Name: b.Name}},
		UID:     string(b.UID), Ports: []int32{int32(b.Spec.Port.Number)}, Labels: map[string]string{},
	}
	if b.Spec.EndpointSelector != nil {
		for key, value := range b.Spec.EndpointSelector.MatchLabels {
			s.Labels[string(key)] = string(value)
		}
	}
	if b.Spec.Type != gwxv1alpha1.BackendTypeEndpointSelector || len(s.Labels) == 0 {
		return nil, invalid(fmt.Sprintf("type %s needs endpointSelector.matchLabels, so requests are answered 503; add a label", b.Spec.Type))
	}
	return s, nil
}

// setTLS sets the TLS of the connections to an XBackend.
func (r *ResolvedXBackend) setTLS(v *store.View, objects *store.Objects, b *gwxv1alpha1.XBackend) {
	spec := b.Spec.TLS
	if spec == nil || spec.Mode == gwxv1alpha1.BackendTLSModeNone {
		return
	}
	both := spec.Mode == gwxv1alpha1.BackendTLSModeClientAndServer
	if spec.Validation == nil || (both && spec.ClientCertificateRef == nil) {
		r.Accepted = invalid(fmt.Sprintf("tls.mode %s needs tls.validation, and ClientAndServer tls.clientCertificateRef too, "+
			"so requests are answered 503; add it", spec.Mode))
		return
	}
	r.TLS = &ir.BackendTLS{ServerName: string(spec.Validation.Hostname), SubjectNames: SubjectNames(spec.Validation), Inline: true}
	from := refs.Origin{Group: gwxv1alpha1.GroupName, Kind: string(store.XBackend), Namespace: b.Namespace}
	r.TLS.Authorities, r.Accepted, r.Partial = Trust(v, objects, from, spec.Validation)
	if both && r.Accepted == nil {
		certificate, problem := refs.Certificate(v, objects, from, *spec.ClientCertificateRef)
		r.TLS.ClientCertificate, r.Accepted = certificate.Name, problem
	}
}

// Outcome returns the status of an XBackend for each of the Gateways that send requests to it.
func (r ResolvedXBackend) Outcome(gateways []string) outcome.Policy {
	o := outcome.Policy{Generation: r.Generation}
	accepted := outcome.Condition{
		Type: string(gwxv1alpha1.BackendConditionAccepted), State: outcome.True,
		Reason: string(gwxv1alpha1.BackendReasonAccepted), Message: "requests are sent to " + r.destination(),
	}
	switch {
	case r.Accepted != nil:
		accepted.State, accepted.Reason = outcome.False, r.Accepted.Reason
		accepted.Message = r.Accepted.Message
	case r.Partial != nil:
		accepted.Message += "; " + r.Partial.Message
	}
	for _, gateway := range gateways {
		o.Ancestors = append(o.Ancestors, outcome.Parent{Ref: attach.GatewayRef(gateway), Conditions: []outcome.Condition{accepted}})
	}
	return o
}

func (r ResolvedXBackend) destination() string {
	text := r.Hostname
	if r.Selector != nil {
		text = "the pods that the labels choose"
	}
	if r.TLS == nil && r.Hostname != "" {
		text += ", in plain text; set tls"
	}
	return text
}

func invalid(message string) *refs.Problem {
	return &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: message}
}
