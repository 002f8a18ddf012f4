package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedTelemetry is what an XTelemetryPolicy asks for, whether or not it is the one that decides.
type ResolvedTelemetry struct {
	// Key and Created take part in precedence: the older policy wins, then the one whose name sorts first.
	Key     string
	Created int64
	// Gateways are the targets, `namespace/name`; Others describes those of kinds that can not be one.
	Gateways []string
	Others   []string
	// Tracing is nil where there are to be no spans, or none can be sent. It names no service where the policy does not.
	Tracing *ir.Tracing
	// Accepted says why the policy can not be served, ResolvedRefs what is wrong with its reference; nil if nothing is.
	Accepted     *refs.Problem
	ResolvedRefs *refs.Problem
	// Omitted are the attributes that spans do not have, in the order of the spec.
	Omitted    []string
	Generation int64
}

// Telemetry resolves the XTelemetryPolicy of that key.
func Telemetry(v *store.View, objects *store.Objects, key string) ResolvedTelemetry {
	p, ok := objects.TelemetryPolicies.Get(v, key)
	if !ok {
		return ResolvedTelemetry{}
	}
	r := ResolvedTelemetry{Key: key, Created: p.CreationTimestamp.Unix(), Generation: p.Generation}
	for _, ref := range p.Spec.TargetRefs {
		if ref.Group == gwv1.GroupName && ref.Kind == gwv1.Kind(store.Gateway) {
			r.Gateways = append(r.Gateways, store.Key(p.Namespace, string(ref.Name)))
		} else {
			r.Others = append(r.Others, strings.TrimPrefix(string(ref.Group)+"/"+string(ref.Kind), "/"))
		}
	}
	if p.Spec.Tracing.Mode != gwxv1alpha1.TracingModeEnabled {
		return r
	}
	tracing, message := r.tracing(&p.Spec.Tracing)
	if message != "" {
		r.Accepted = invalid(message)
		return r
	}
	from := refs.Origin{Group: gwxv1alpha1.GroupName, Kind: string(store.XTelemetryPolicy), Namespace: p.Namespace}
	backend, problem := refs.Backend(v, objects, from, p.Spec.Tracing.Provider.BackendRef, ir.BackendHTTP2)
	if problem != nil {
		r.ResolvedRefs = &refs.Problem{Reason: problem.Reason, Message: "tracing.provider.backendRef: " + problem.Message + "; until then there are no spans"}
		return r
	}
	tracing.Backend = backend.Name()
	r.Tracing = tracing
	return r
}

func (r *ResolvedTelemetry) tracing(spec *gwxv1alpha1.TracingConfig) (*ir.Tracing, string) {
	t := &ir.Tracing{Service: spec.ServiceName, Span: spec.SpanName, FollowParent: spec.ParentBasedSampling.Mode != gwxv1alpha1.ParentBasedSamplingModeDisabled}
	var message string
	if t.Rate, message = fraction("tracing.samplingRate", spec.SamplingRate); message != "" {
		return nil, message
	}
	if t.ParentRate, message = fraction("tracing.parentBasedSampling.samplingRate", spec.ParentBasedSampling.SamplingRate); message != "" {
		return nil, message
	}
	for _, h := range spec.Provider.Headers {
		if message := cmp.Or(header.CheckName("tracing.provider.headers:", string(h.Name)), header.CheckValue("the value for header "+string(h.Name), h.Value)); message != "" {
			return nil, message
		}
		if strings.Contains(h.Value, "%") {
			return nil, fmt.Sprintf("the value for header %s of tracing.provider has a per cent sign, which the proxy can not send; use another", h.Name)
		}
		t.Headers = append(t.Headers, ir.Header{Name: strings.ToLower(string(h.Name)), Value: h.Value})
	}
	for _, a := range spec.Attributes {
		attribute := ir.SpanAttribute{Name: string(a.Name)}
		switch a.SourceType {
		case gwxv1alpha1.AttributeSourceLiteral:
			attribute.Literal = a.LiteralValue
		case gwxv1alpha1.AttributeSourceHeader:
			attribute.Header = strings.ToLower(string(a.HeaderName))
		case gwxv1alpha1.AttributeSourceAttribute:
			attribute.Key = a.AttributeKey
		}
		if attribute == (ir.SpanAttribute{Name: string(a.Name)}) || (attribute.Key != "" && !served(attribute.Key)) {
			r.Omitted = append(r.Omitted, fmt.Sprintf("%s (%s %s)", a.Name, a.SourceType, a.AttributeKey))
			continue
		}
		t.Attributes = append(t.Attributes, attribute)
	}
	return t, ""
}

// served says whether a proxy can tell what an attribute of OpenTelemetry asks for.
func served(key string) bool {
	for _, prefix := range []string{ir.RequestHeaderKey, ir.ResponseHeaderKey} {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return name != ""
		}
	}
	return slices.Contains(ir.SpanKeys, key)
}

// fraction reads a share from a field of that name. Nothing is the whole.
func fraction(field string, f *gwv1.Fraction) (ir.Fraction, string) {
	if f == nil {
		return ir.Fraction{Numerator: 1, Denominator: 1}, ""
	}
	denominator := pointedOr(f.Denominator, 100)
	if f.Numerator < 0 || denominator < 1 || f.Numerator > denominator {
		return ir.Fraction{}, fmt.Sprintf("%s %d/%d is not a share of a whole; use a numerator from 0 to the denominator", field, f.Numerator, denominator)
	}
	return ir.Fraction{Numerator: uint32(f.Numerator), Denominator: uint32(denominator)}, ""
}

func (r ResolvedTelemetry) before(other ResolvedTelemetry) bool {
	return cmp.Or(cmp.Compare(r.Created, other.Created), cmp.Compare(r.Key, other.Key)) < 0
}
