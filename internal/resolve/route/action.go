package route

import (
	"fmt"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// action is what a rule does, whichever of its matches fits.
type action struct {
	requestHeaders  ir.HeaderEdit
	responseHeaders ir.HeaderEdit
	cors            *ir.CORS
	redirect        *ir.Redirect
	forward         *ir.Forward
	fail            *ir.Fail
	auth            *ir.ExternalAuth
	// origins are the objects beside the route that settings come from.
	origins []string
	// unchecked says that there is nobody to ask whether a request may pass.
	unchecked bool
}

// rule puts an action behind a match.
func (a action) rule(name string, match ir.Match) Rule {
	return Rule{
		rank: rankOf(match),
		Rule: ir.Rule{
			Name: name, Match: match, RequestHeaders: a.requestHeaders, ResponseHeaders: a.responseHeaders, CORS: a.cors,
			Redirect: a.redirect, Forward: a.forward, Fail: a.fail, Auth: a.auth, Origins: a.origins,
		},
	}
}

// rules puts an action behind each match of a rule. When the action can not be served, as message says, or one of the matches can not,
// the whole rule answers an error. Of a rule that guards something, so does what may be meant by a match that can not be read.
func (r *resolver) rules(name string, index int, rule requestRule, a action, message string) []Rule {
	var served []ir.Match
	guarded := guards(rule.filters)
	for i, m := range rule.matches {
		before := r.expressions
		problem := checkMatch(m, &r.expressions)
		if problem == "" {
			served = append(served, m)
			continue
		}
		message = problem
		if !guarded {
			continue
		}
		r.expressions = before
		if wide, ok := r.expressions.meant(m, rule.segmentsOf(i)); ok {
			message += "; since a filter of the rule may refuse requests, all that it may mean get an error"
			served = append(served, wide)
		}
	}
	if message != "" && len(served) == 0 {
		message += "; the rule is left out, since nothing says which requests are meant"
	}
	if message != "" {
		r.verdicts.invalidRule(index, message)
		a = failing(r.from.Kind)
	}
	rules := make([]Rule, 0, len(served))
	for i, m := range served {
		numbered := fmt.Sprintf("%s/%d", name, i)
		rules = append(rules, a.rule(numbered, m))
		if a.cors != nil && a.forward != nil && m.Method != "" && m.Method != ir.MethodOptions {
			rules = append(rules, a.preflight().rule(numbered, m.OfPreflight()))
		}
	}
	return rules
}

// preflight answers what browsers ask before they send a request. The filter answers all of them, if only there is a backend that they
// could be sent to; none is.
func (a action) preflight() action {
	return action{cors: a.cors, responseHeaders: a.responseHeaders, forward: &ir.Forward{Backends: []ir.WeightedBackend{{Weight: 1}}}}
}

// backendRef is a backend reference of either kind of route.
type backendRef struct {
	gwv1.BackendRef
	filters []gwv1.HTTPRouteFilter
}

// resolver resolves the rules of one route.
type resolver struct {
	in       Inputs
	view     *store.View
	from     refs.Origin
	protocol ir.BackendProtocol
	verdicts *verdicts
	// expressions are those of the rules so far.
	expressions expressions
}

// action resolves filters and backends. Of what can not be served it returns a message.
func (r *resolver) action(filters []gwv1.HTTPRouteFilter, backends []backendRef) (action, string) {
	var a action
	forward := &ir.Forward{}
	for i, f := range filters {
		r.verdicts.at.index, r.verdicts.at.filter = i, true
		if message := r.filter(f, &a, forward); message != "" {
			return failing(r.from.Kind), message
		}
	}
	switch {
	case a.unchecked:
		return failing(r.from.Kind), ""
	case a.redirect != nil && a.cors != nil:
		return failing(r.from.Kind), "filter CORS beside RequestRedirect is not served by this version; remove one"
	case a.redirect != nil:
		return a, ""
	}
	for i, b := range backends {
		r.verdicts.at.index, r.verdicts.at.filter = i, false
		weighted, message := r.backend(b)
		if message != "" {
			return failing(r.from.Kind), message
		}
		forward.Backends = append(forward.Backends, weighted)
		forward.Streams = forward.Streams || r.webSocket(weighted.Backend)
		if weighted.Session != nil {
			backend, _ := ir.ParseBackend(weighted.Backend)
			a.origins = append(a.origins, backend.Target())
		}
	}
	a.origins = unique(a.origins)
	a.forward = forward
	if !takesTraffic(forward.Backends) {
		a.forward, a.fail = nil, failure(r.from.Kind)
	}
	return a, ""
}

func (r *resolver) webSocket(name string) bool {
	backend, ok := ir.ParseBackend(name)
	return ok && refs.WebSocket(r.view, r.in.Objects, backend)
}

func takesTraffic(backends []ir.WeightedBackend) bool {
	for _, b := range backends {
		if b.Backend != "" && b.Weight > 0 {
			return true
		}
	}
	return false
}

// filter applies one filter of a rule.
func (r *resolver) filter(f gwv1.HTTPRouteFilter, a *action, forward *ir.Forward) string {
	switch {
	case f.Type == gwv1.HTTPRouteFilterRequestHeaderModifier && f.RequestHeaderModifier != nil:
		return requestHeaderEdit(f.RequestHeaderModifier, &a.requestHeaders, &forward.Rewrite)
	case f.Type == gwv1.HTTPRouteFilterResponseHeaderModifier && f.ResponseHeaderModifier != nil:
		return headerEdit(f.ResponseHeaderModifier, &a.responseHeaders)
	case f.Type == gwv1.HTTPRouteFilterRequestRedirect && f.RequestRedirect != nil:
		a.redirect = redirect(f.RequestRedirect)
		return checkPathEdit("requestRedirect", a.redirect.Path)
	case f.Type == gwv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil:
		return rewrite(f.URLRewrite, &forward.Rewrite)
	case f.Type == gwv1.HTTPRouteFilterRequestMirror && f.RequestMirror != nil:
		r.mirror(f.RequestMirror, forward)
	case f.Type == gwv1.HTTPRouteFilterCORS && f.CORS != nil:
		a.cors = cors(f.CORS)
		return header.CheckNames("filter CORS: header", a.cors.Headers, a.cors.Expose)
	case f.Type == gwv1.HTTPRouteFilterExternalAuth && f.ExternalAuth != nil:
		return r.externalAuth(f.ExternalAuth, a)
	default:
		return unservedFilter(f, "")
	}
	return ""
}

// unservedFilter names a filter as the user wrote it.
func unservedFilter(f gwv1.HTTPRouteFilter, where string) string {
	if f.ExtensionRef == nil {
		return fmt.Sprintf("filter %s%s is not served by this version; remove it", f.Type, where)
	}
	return fmt.Sprintf("filter %s%s names %s %s in group %q, which is not served by this version; remove it",
		f.Type, where, f.ExtensionRef.Kind, f.ExtensionRef.Name, f.ExtensionRef.Group)
}

func (r *resolver) backend(b backendRef) (ir.WeightedBackend, string) {
	weighted := ir.WeightedBackend{Weight: weight(b.BackendRef)}
	for _, f := range b.filters {
		message := unservedFilter(f, " on a backend")
		switch {
		case f.Type == gwv1.HTTPRouteFilterRequestHeaderModifier && f.RequestHeaderModifier != nil:
			message = requestHeaderEdit(f.RequestHeaderModifier, &weighted.RequestHeaders, &weighted.Rewrite)
		case f.Type == gwv1.HTTPRouteFilterResponseHeaderModifier && f.ResponseHeaderModifier != nil:
			message = headerEdit(f.ResponseHeaderModifier, &weighted.ResponseHeaders)
		case f.Type == gwv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil:
			message = rewrite(f.URLRewrite, &weighted.Rewrite)
		}
		if message != "" {
			return weighted, message
		}
	}
	backend, problem := refs.Backend(r.view, r.in.Objects, r.from, b.BackendObjectReference, r.protocol)
	if problem != nil {
		r.verdicts.unresolvedRef(problem)
		return weighted, ""
	}
	weighted.Backend = backend.Name()
	r.verdicts.used(weighted.Backend)
	if backend.XBackend {
		var message string
		if weighted.Session, message = r.backendSession(backend); message != "" {
			return weighted, message
		}
	}
	return weighted, ""
}

// weight: the standard reads no weight as 1.
func weight(b gwv1.BackendRef) uint32 {
	if b.Weight == nil {
		return 1
	}
	return uint32(max(*b.Weight, 0))
}

func (r *resolver) mirror(f *gwv1.HTTPRequestMirrorFilter, forward *ir.Forward) {
	backend, problem := refs.Backend(r.view, r.in.Objects, r.from, f.BackendRef, r.protocol)
	if problem != nil {
		r.verdicts.unresolvedRef(problem)
		return
	}
	r.verdicts.used(backend.Name())
	m := ir.Mirror{Backend: backend.Name(), Numerator: 100, Denominator: 100}
	switch {
	case f.Percent != nil:
		m.Numerator = uint32(max(*f.Percent, 0))
	case f.Fraction != nil:
		m.Numerator = uint32(max(f.Fraction.Numerator, 0))
		if f.Fraction.Denominator != nil {
			m.Denominator = uint32(max(*f.Fraction.Denominator, 1))
		}
	}
	forward.Mirrors = append(forward.Mirrors, m)
}

func redirect(f *gwv1.HTTPRequestRedirectFilter) *ir.Redirect {
	r := &ir.Redirect{StatusCode: 302, Path: pathEdit(f.Path)}
	if f.Scheme != nil {
		r.Scheme = *f.Scheme
	}
	if f.Hostname != nil {
		r.Hostname = string(*f.Hostname)
	}
	if f.Port != nil {
		r.Port = *f.Port
	}
	if f.StatusCode != nil {
		r.StatusCode = *f.StatusCode
	}
	return r
}

// rewrite reads a URLRewrite filter. Of what can not be served it returns a message.
func rewrite(f *gwv1.HTTPURLRewriteFilter, to **ir.Rewrite) string {
	if *to == nil {
		*to = &ir.Rewrite{}
	}
	(*to).Path = pathEdit(f.Path)
	if f.Hostname != nil {
		if message := rewriteHost(string(*f.Hostname), to); message != "" {
			return message
		}
	}
	return checkPathEdit("urlRewrite", (*to).Path)
}

func pathEdit(f *gwv1.HTTPPathModifier) *ir.PathEdit {
	switch {
	case f == nil:
		return nil
	case f.Type == gwv1.FullPathHTTPPathModifier:
		return &ir.PathEdit{Full: f.ReplaceFullPath}
	default:
		return &ir.PathEdit{Prefix: f.ReplacePrefixMatch}
	}
}

func checkPathEdit(filter string, e *ir.PathEdit) string {
	switch {
	case e != nil && e.Full != nil:
		return checkPath(filter+".path.replaceFullPath", *e.Full)
	case e != nil && e.Prefix != nil:
		return checkPath(filter+".path.replacePrefixMatch", *e.Prefix)
	default:
		return ""
	}
}

// duration reads a duration of the standard (GEP-2257), which is a subset of Go's, from a field of that name.
func duration(field string, d *gwv1.Duration) (*time.Duration, string) {
	if d == nil {
		return nil, ""
	}
	parsed, err := time.ParseDuration(string(*d))
	if err != nil || parsed < 0 {
		return nil, fmt.Sprintf("%s %q is not a duration", field, *d)
	}
	return &parsed, ""
}
