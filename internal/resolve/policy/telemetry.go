package policy

import (
	"fmt"
	"slices"
	"strings"

	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/fraction"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedTelemetry is what an XTelemetryPolicy asks for, whether or not it is the one that decides. Its spec is nil where there are to be
// no spans, or none can be sent. It names no service where the policy does not.
type ResolvedTelemetry = attach.Policy[*ir.Tracing]

var telemetryKind = attach.Kind[*ir.Tracing]{
	Name:         string(store.XTelemetryPolicy),
	Targets:      []attach.TargetKind{attach.Gateways.Whole()},
	Settings:     []attach.Setting[*ir.Tracing]{attach.Whole[*ir.Tracing]("tracing")},
	ResolvedRefs: true,
}

// Telemetry resolves the XTelemetryPolicy of that key.
func Telemetry(v *store.View, objects *store.Objects, key string) ResolvedTelemetry {
	p, ok := objects.TelemetryPolicies.Get(v, key)
	if !ok {
		return ResolvedTelemetry{}
	}
	r := newPolicy(&telemetryKind, p)
	references := make([]attach.Reference, 0, len(p.Spec.TargetRefs))
	for _, ref := range p.Spec.TargetRefs {
		references = append(references, attach.Reference{Group: string(ref.Group), Kind: string(ref.Kind), Name: string(ref.Name)})
	}
	r.Targets, r.Excluded = telemetryKind.Attach(p.Namespace, "", references)
	omitted := takeTracing(v, objects, p, &r)
	r.Serves = "there are no spans, as the policy says"
	if r.Spec != nil {
		r.Serves = "requests become spans as the policy says"
	}
	if len(omitted) > 0 {
		r.Notes = append(r.Notes, "these attributes are left out, the proxy does not know them: "+strings.Join(omitted, ", "))
	}
	r.Notes = append(r.Notes, telemetryKind.Notes(r.Excluded, "")...)
	return r
}

// takeTracing reads which requests become spans, and where those go. It returns the attributes that spans do not have.
func takeTracing(v *store.View, objects *store.Objects, p *gwxv1alpha1.XTelemetryPolicy, r *ResolvedTelemetry) (omitted []string) {
	if p.Spec.Tracing.Mode != gwxv1alpha1.TracingModeEnabled {
		return nil
	}
	tracing, omitted, message := tracing(&p.Spec.Tracing)
	if message != "" {
		r.Accepted = invalid(message)
		return nil
	}
	from := refs.Origin{Group: gwxv1alpha1.GroupName, Kind: string(store.XTelemetryPolicy), Namespace: p.Namespace}
	backend, problem := backend.Resolve(v, objects, from, p.Spec.Tracing.Provider.BackendRef, ir.BackendHTTP2)
	if problem != nil {
		r.ResolvedRefs = &refs.Problem{
			Reason: problem.Reason, Message: "tracing.provider.backendRef: " + problem.Message + "; until then there are no spans",
		}
		return omitted
	}
	tracing.Backend = backend
	r.Spec = tracing
	return omitted
}

// tracing reads which requests become spans. It returns the attributes that spans do not have, in the order of the spec, and why the whole
// cannot be served.
func tracing(spec *gwxv1alpha1.TracingConfig) (t *ir.Tracing, omitted []string, message string) {
	t = &ir.Tracing{
		Service: spec.ServiceName, Span: spec.SpanName,
		FollowParent: spec.ParentBasedSampling.Mode != gwxv1alpha1.ParentBasedSamplingModeDisabled,
	}
	all, parent := ir.Fraction{Numerator: 1, Denominator: 1}, spec.ParentBasedSampling.SamplingRate
	if t.Rate, message = fraction.Parse("tracing.samplingRate", spec.SamplingRate, all); message != "" {
		return nil, nil, message
	}
	if t.ParentRate, message = fraction.Parse("tracing.parentBasedSampling.samplingRate", parent, all); message != "" {
		return nil, nil, message
	}
	if t.Headers, message = header.Metadata("tracing.provider.headers", spec.Provider.Headers); message != "" {
		return nil, nil, message
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
			omitted = append(omitted, fmt.Sprintf("%s (%s %s)", a.Name, a.SourceType, a.AttributeKey))
			continue
		}
		t.Attributes = append(t.Attributes, attribute)
	}
	return t, omitted, ""
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
