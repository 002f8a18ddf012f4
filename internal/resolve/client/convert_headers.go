package client

import (
	"cmp"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

func (c *converter) headers(h *v1alpha1.ClientHeaders) ir.ClientHeaders {
	if h == nil {
		return ir.ClientHeaders{}
	}
	p := ir.ClientHeaders{
		EnvoyHeaders: isTrue(h.EnableEnvoyHeaders), Underscores: text(h.WithUnderscoresAction), RequestID: text(h.RequestID),
		Early: c.mutation("headers.earlyRequestHeaders", h.EarlyRequestHeaders),
		Late:  c.mutation("headers.lateResponseHeaders", h.LateResponseHeaders),
	}
	if isTrue(h.PreserveXRequestID) {
		p.RequestID = string(v1alpha1.RequestIDPreserveOrGenerate)
	}
	if x := h.XForwardedClientCert; x != nil {
		p.Forwarded = text(x.Mode)
		for _, detail := range x.CertDetailsToAdd {
			p.ForwardedDetails = append(p.ForwardedDetails, string(detail))
		}
	}
	if h.Host != nil && h.Host.StripTrailingHostDot != nil {
		p.KeepHostDot = !*h.Host.StripTrailingHostDot
	}
	const kib = 1 << 10
	p.MaxKiB = (c.Bytes("headers.maxRequestHeaderLimit", h.MaxRequestHeaderLimit, kib, 8192*kib) + kib - 1) / kib
	return p
}

func (c *converter) mutation(field string, m *v1alpha1.HeaderMutation) *ir.HeaderMutation {
	if m == nil {
		return nil
	}
	p := &ir.HeaderMutation{
		Set: c.list(field+".set", m.Set), Add: c.list(field+".add", m.Add), AddIfAbsent: c.list(field+".addIfAbsent", m.AddIfAbsent),
		RemoveOnMatch: c.Matches(field+".removeOnMatch", m.RemoveOnMatch),
	}
	for _, name := range m.Remove {
		if c.Accept(header.CheckEdit(name)) {
			p.Remove = append(p.Remove, strings.ToLower(name))
		}
	}
	return p
}

// list reads headers. Their values may hold Envoy's variables, such as %DOWNSTREAM_TLS_VERSION%, so they are checked as Envoy does.
func (c *converter) list(field string, headers []gwv1.HTTPHeader) []ir.Header {
	var list []ir.Header
	for _, h := range headers {
		problem := cmp.Or(header.CheckEdit(string(h.Name)), header.CheckValue(field+", the value for "+string(h.Name), h.Value))
		if c.Accept(problem) {
			list = append(list, ir.Header{Name: strings.ToLower(string(h.Name)), Value: h.Value})
		}
	}
	return list
}
