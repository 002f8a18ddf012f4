package traffic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/command"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/reply"
	"github.com/gatewright/gatewright/internal/resolve/values"
	"github.com/gatewright/gatewright/internal/store"
)

func (c *converter) bandwidth(b *v1alpha1.BandwidthLimit) *ir.Bandwidth {
	if b == nil {
		return nil
	}
	p := &ir.Bandwidth{}
	if b.Request != nil {
		p.Request = c.rate("bandwidthLimit.request.limit", b.Request.Limit)
	}
	if b.Response != nil {
		p.Response = c.rate("bandwidthLimit.response.limit", b.Response.Limit)
		if t := b.Response.ResponseTrailers; t != nil {
			if c.Accept(header.CheckName("bandwidthLimit.response.responseTrailers.prefix", "x"+values.Or(t.Prefix))) {
				p.Trailers, p.TrailerPrefix = true, strings.ToLower(values.Or(t.Prefix))
			}
		}
	}
	if p.Request == 0 && p.Response == 0 {
		return nil
	}
	return p
}

// rate is a number of KiB in each second, at least 1.
func (c *converter) rate(field string, b v1alpha1.Bandwidth) uint64 {
	const kibi, most = 1 << 10, 1 << 40
	amount, unit := b.Value.Value(), units[b.Unit]
	if amount < 1 || amount > most || unit == 0 || unit > time.Hour {
		c.Fail("%s: %s for each %q is not a limit; use a number of bytes for each Second, Minute or Hour", field, b.Value.String(), b.Unit)
		return 0
	}
	return max(1, uint64(amount/int64(unit/time.Second)/kibi)) //nolint:gosec // amount is positive
}

const (
	defaultWindow       = 30 * time.Second
	defaultMinSuccess   = 95
	defaultAggression   = 1
	defaultMaxRejection = 80
)

func (c *converter) admission(a *v1alpha1.AdmissionControl) *ir.AdmissionControl {
	if a == nil {
		return nil
	}
	p := &ir.AdmissionControl{
		Window: defaultWindow, RequestsInSecond: values.Unsigned(a.MinRequestRate),
		MinSuccess:   uint32(max(1, ptr.Deref(a.MinSuccessRate, defaultMinSuccess))),
		MaxRejection: uint32(max(0, ptr.Deref(a.MaxRejectionPercent, defaultMaxRejection))),
		Aggression:   uint32(max(1, ptr.Deref(a.RejectionAggression, defaultAggression))),
	}
	if w := c.AtLeast("admissionControl.samplingWindow", a.SamplingWindow, time.Second); w != nil {
		p.Window = w.Truncate(time.Second)
	}
	if s := a.SuccessCriteria; s != nil && s.HTTP != nil {
		for _, code := range s.HTTP.StatusCodes {
			p.Codes = append(p.Codes, uint32(max(0, code)))
		}
	}
	if s := a.SuccessCriteria; s != nil && s.GRPC != nil {
		for _, code := range s.GRPC.StatusCodes {
			p.GRPCCodes = append(p.GRPCCodes, grpcCodes[code])
		}
	}
	slices.Sort(p.Codes)
	slices.Sort(p.GRPCCodes)
	return p
}

var grpcCodes = func() map[v1alpha1.GRPCCode]uint32 {
	codes := map[v1alpha1.GRPCCode]uint32{}
	for i, name := range []v1alpha1.GRPCCode{
		"Ok", "Cancelled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
		"ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss",
		"Unauthenticated",
	} {
		codes[name] = uint32(i)
	}
	return codes
}()

func upgrades(list []v1alpha1.HTTPUpgrade) []string {
	var types []string
	for _, u := range list {
		if name := strings.ToLower(u.Type); name != "websocket" && name != "connect" {
			types = append(types, name)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// overrides are responses that replace others. One that cannot be served is left out, and those behind it stay.
func (c *converter) overrides(v *store.View, namespace string, list []v1alpha1.ResponseOverride) []ir.ResponseOverride {
	var all []ir.ResponseOverride
	for i, o := range list {
		field := fmt.Sprintf("responseOverride[%d].", i)
		before := len(c.Problems)
		one := ir.ResponseOverride{Local: local(o.Source), Codes: codeRanges(o.Match.StatusCodes)}
		for j, h := range o.Match.ResponseHeaders {
			at := fmt.Sprintf("%smatch.responseHeaders[%d]", field, j)
			match, _ := c.Match(at+".value", h.Value)
			c.Accept(header.CheckName(at+".name", string(h.Name)))
			one.Headers = append(one.Headers, ir.NamedMatch{Name: strings.ToLower(string(h.Name)), StringMatch: match})
		}
		switch {
		case o.Response != nil:
			c.response(v, namespace, field+"response", o.Response, &one)
		case o.Redirect != nil:
			c.redirect(field+"redirect", o.Redirect, &one)
		}
		if len(c.Problems) == before {
			all = append(all, one)
		}
	}
	return all
}

func local(source *string) *bool {
	switch values.Or(source) {
	case "Local":
		return new(true)
	case "Backend":
		return new(false)
	default:
		return nil
	}
}

func codeRanges(list []v1alpha1.StatusCodeMatch) []ir.CodeRange {
	var all []ir.CodeRange
	for _, m := range list {
		switch {
		case m.Range != nil:
			all = append(all, ir.CodeRange{First: values.Unsigned(&m.Range.Start), Last: values.Unsigned(&m.Range.End)})
		case m.Value != nil:
			all = append(all, ir.CodeRange{First: values.Unsigned(m.Value), Last: values.Unsigned(m.Value)})
		}
	}
	return all
}

func (c *converter) response(
	v *store.View, namespace, field string, r *v1alpha1.OverridingResponse, to *ir.ResponseOverride,
) {
	to.StatusCode, to.ContentType = values.Unsigned(r.StatusCode), values.Or(r.ContentType)
	c.Accept(header.CheckValue(field+".contentType", to.ContentType))
	body, problem, message := reply.Body(v, c.objects, namespace, field+".body", r.Body)
	if problem != nil {
		message = problem.Message
	}
	if c.Accept(message) {
		to.Body, message = command.Format(field+".body", body)
		c.Accept(message)
	}
	edit, message := reply.HeaderFormats(field+".header", r.Header)
	if c.Accept(message) && edit != nil {
		to.Edit = edit.Formats
	}
}

// redirect is a response with a Location.
func (c *converter) redirect(field string, r *v1alpha1.OverridingRedirect, to *ir.ResponseOverride) {
	const found = 302
	to.StatusCode = uint32(max(0, ptr.Deref(r.StatusCode, found)))
	scheme, host, path := "%REQ(x-forwarded-proto)%", "%REQ(:authority)%", "%REQ(x-envoy-original-path?:path)%"
	if r.Scheme != nil {
		scheme = *r.Scheme
	}
	if r.Hostname != nil {
		host = string(*r.Hostname)
		if r.Port != nil {
			host = fmt.Sprintf("%s:%d", host, *r.Port)
		}
	} else if r.Port != nil {
		c.Fail("%s.port has no hostname; set hostname too", field)
	}
	if r.Path != nil && r.Path.Type == gwv1.FullPathHTTPPathModifier && r.Path.ReplaceFullPath != nil {
		text := *r.Path.ReplaceFullPath
		if !strings.HasPrefix(text, "/") {
			c.Fail("%s.path.replaceFullPath %q does not begin with a slash; add one", field, text)
		}
		c.Accept(header.CheckValue(field+".path", text))
		path = strings.ReplaceAll(text, "%", "%%")
	}
	to.Edit = &ir.HeaderFormats{Set: []ir.Header{{Name: "location", Value: scheme + "://" + host + path}}}
}
