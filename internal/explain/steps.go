package explain

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// preflight answers what browsers ask before a request of another origin.
func (x *exchange) preflight(s settings) bool {
	c := s.CORS
	if c == nil || c.Guard == ir.Off || s.FailsClosed() || !s.forwards || x.request.Method != ir.MethodOptions {
		return true
	}
	origin := x.headers.first("origin")
	if origin == "" || x.headers.first("access-control-request-method") == "" {
		return true
	}
	allowed := slices.ContainsFunc(c.Origins, func(m ir.StringMatch) bool { return matches(m, "*") || matches(m, origin) })
	detail := "the proxy answers the preflight, and allows the origin"
	if !allowed {
		detail = fmt.Sprintf("the proxy answers the preflight without allowing origin %s; the browser will not send the request", origin)
		x.out.Fix = "add the origin to the allowed origins of the CORS settings"
	}
	x.hop(Hop{Name: hopFilter, Value: origin, Object: "cors", Detail: detail, Origin: s.origin("cors"), Failed: !allowed})
	x.out.Result, x.out.Status, x.out.Reason = Answered, http.StatusOK, detail
	return false
}

// crossOrigin rejects requests of other origins that change something.
func (x *exchange) crossOrigin(s settings) bool {
	c := s.CSRF
	modifies := slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch}, x.request.Method)
	if c == nil || c.Guard == ir.Off || s.closed || !modifies {
		return true
	}
	source := x.headers.first("origin")
	if source != "null" {
		source = hostAndPort(source)
		if source == "" {
			source = hostAndPort(x.headers.first("referer"))
		}
	} else {
		source = ""
	}
	target := x.headers.first(authorityHeader)
	if source != "" && (source == target || slices.ContainsFunc(c.Origins, func(m ir.StringMatch) bool { return matches(m, source) })) {
		return true
	}
	detail := fmt.Sprintf("origin %q may not send requests that change something", source)
	if c.Shadow.Numerator > 0 {
		if c.Shadow.Numerator < c.Shadow.Denominator {
			x.alternative(http.StatusForbidden, "csrf", detail, s.origin("csrf"))
		}
		return true
	}
	x.fail(http.StatusForbidden, Hop{Name: hopFilter, Value: source, Object: "csrf", Detail: detail, Origin: s.origin("csrf")},
		"send the Origin header of the same host, or add the origin to additionalOrigins")
	return false
}

// hostAndPort is the host of a URL with its port, or the text itself if it is no URL.
func hostAndPort(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// externalAuth asks a server.
func (x *exchange) externalAuth(s settings) bool {
	if s.Auth == nil || s.Auth.Guard == ir.Off || s.closed && !s.shared {
		return true
	}
	x.alternative(0, "external authorization",
		fmt.Sprintf("%s %s rejects the request, or does not answer", s.Auth.Backend.Kind, s.Auth.Backend.Object), s.origin("extAuth"))
	return true
}

// localLimit counts requests at each proxy.
func (x *exchange) localLimit(s settings) bool {
	if s.RateLimit == nil {
		return true
	}
	for i := range s.RateLimit.Rules {
		r := &s.RateLimit.Rules[i]
		if r.Shadow || !x.limits(r) {
			continue
		}
		x.alternative(http.StatusTooManyRequests, "local rate limit",
			fmt.Sprintf("more than %d requests in %s pass one proxy", r.Requests, r.Unit), s.origin("rateLimit.local"))
	}
	return true
}

// globalLimit counts requests at all proxies together.
func (x *exchange) globalLimit(s settings) bool {
	if s.GlobalRateLimit == nil || s.closed {
		return true
	}
	for i := range s.GlobalRateLimit.Rules {
		r := &s.GlobalRateLimit.Rules[i].RateRule
		if !r.Shadow && x.limits(r) {
			x.alternative(http.StatusTooManyRequests, "global rate limit",
				fmt.Sprintf("more than %d requests in %s pass all proxies", r.Requests, r.Unit), s.origin("rateLimit.global"))
		}
	}
	if !s.GlobalRateLimit.FailOpen {
		x.alternative(0, "global rate limit", "the rate limit service does not answer", s.origin("rateLimit.global"))
	}
	return true
}

// limits says whether a rule of a rate limit counts the request.
func (x *exchange) limits(r *ir.RateRule) bool {
	return !slices.ContainsFunc(r.Matches, func(m ir.RateMatch) bool {
		var matched bool
		switch {
		case m.CIDR != "":
			matched = !x.client.IsValid() || inAny([]string{m.CIDR}, x.client)
		case m.Distinct && m.Header != "":
			return len(x.headers.values(m.Header)) == 0
		case m.Header != "":
			matched = slices.ContainsFunc(x.headers.values(m.Header), func(v string) bool { return matches(m.Match, v) })
		default:
			value, ok := queryParameter(x.path, m.Query)
			if m.Distinct {
				return !ok
			}
			matched = ok && matches(m.Match, value)
		}
		return matched == m.Invert
	})
}

// admissionControl rejects requests while many fail.
func (x *exchange) admissionControl(s settings) bool {
	if s.Admission != nil {
		x.alternative(http.StatusServiceUnavailable, "admission control", "too many requests have failed lately", s.origin("admissionControl"))
	}
	return true
}

// extensions run code of users.
func (x *exchange) extensions(s settings) bool {
	for _, e := range s.rule.Extensions.All() {
		what := "the Lua script"
		if e.ExtProc != nil {
			what = fmt.Sprintf("%s %s", e.ExtProc.Backend.Kind, e.ExtProc.Backend.Object)
		}
		x.alternative(0, "extension", what+" answers or changes the request, or fails", DescribeRule(s.rule.Name))
	}
	return true
}

// fault aborts requests.
func (x *exchange) fault(s settings) bool {
	f := s.Fault
	if f == nil || f.AbortPart == 0 || f.HTTPStatus == 0 && f.GRPCStatus == nil {
		return true
	}
	const all = 1_000_000
	status := int(f.HTTPStatus)
	if f.GRPCStatus != nil {
		status = http.StatusOK
	}
	detail := fmt.Sprintf("fault injection aborts %g%% of the requests", 100*float64(f.AbortPart)/all)
	if f.AbortPart < all {
		x.alternative(status, "fault injection", detail, s.origin("faultInjection"))
		return true
	}
	x.fail(status, Hop{Name: hopFilter, Object: "faultInjection", Detail: detail, Origin: s.origin("faultInjection")},
		"remove faultInjection from the BackendTrafficPolicy")
	if f.GRPCStatus != nil && x.out.GRPCStatus != nil {
		x.out.GRPCStatus = new(int(*f.GRPCStatus))
	}
	return false
}

// buffer receives the whole request first.
func (x *exchange) buffer(s settings) bool {
	if s.BufferLimit > 0 {
		x.alternative(http.StatusRequestEntityTooLarge, "request buffer",
			fmt.Sprintf("the request is larger than %d bytes", s.BufferLimit), s.origin("requestBuffer"))
	}
	return true
}
