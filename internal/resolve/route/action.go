package route

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// action is what a rule does, whichever of its matches fits.
type action struct {
	requestHeaders  *ir.HeaderEdit
	responseHeaders *ir.HeaderEdit
	redirect        *ir.Redirect
	forward         *ir.Forward
	respond         *ir.Response
	fail            *ir.Fail
	// policy is shared by all rules of the route that have the same; see [resolver.share].
	policy *ir.RequestPolicy
	// destination has the settings of policies on the route for connections to backends.
	destination *ir.DestinationLayer
	// credential is added to requests, nil for none.
	credential *ir.InjectedCredential
	// extensions are code of users that requests pass, nil for none.
	extensions *ir.Extensions
	// unchecked says that a filter cannot be resolved, or the rule cannot be served, so that no request may pass.
	unchecked bool
}

// rule puts an action behind a match.
func (a action) rule(name string, match ir.Match) Rule {
	return Rule{
		rank: rankOf(match), Destination: a.destination, Unchecked: a.unchecked,
		Rule: ir.Rule{
			Name: name, Match: match, RequestHeaders: a.requestHeaders, ResponseHeaders: a.responseHeaders, Policy: a.policy,
			Extensions: a.extensions, Redirect: a.redirect, Forward: a.forward, Respond: a.respond, Fail: a.fail,
		},
	}
}

// rules puts an action behind each match of a rule. When the action cannot be served, as message says, or one of the matches cannot,
// the whole rule answers an error. Of a rule that guards something, so does what may be meant by a match that cannot be read.
func (r *resolver) rules(name string, index int, rule requestRule, a action, message string) []Rule {
	served, rest, problem := r.matches(rule)
	message = cmp.Or(problem, message)
	if message != "" && len(served) == 0 && !rest {
		message += "; the rule is left out, since nothing says which requests are meant"
	}
	if message != "" {
		r.problems.invalidRule(index, message)
		a = failing(r.from.Kind)
	}
	a.policy = r.share(a.policy)
	preflight := a.preflight()
	preflight.policy = r.share(preflight.policy)
	rules := make([]Rule, 0, len(served))
	for i, m := range served {
		numbered := fmt.Sprintf("%s/%d", name, i)
		placed := a.rule(numbered, m.Match).at(m.place)
		if rule.wide {
			placed = placed.at(placed.rank.first())
		}
		rules = append(rules, placed)
		if preflight.policy != nil && a.forward != nil && m.Method != "" && m.Method != ir.MethodOptions {
			rules = append(rules, preflight.rule(numbered, m.OfPreflight()))
		}
	}
	if rest {
		rules = append(rules, restOf(r.from.Kind, fmt.Sprintf("%s/%d", name, len(served))))
	}
	return rules
}

// matches are those of a rule that can be served, and a message if one cannot. Of a rule that guards something there is, in place of that
// one, all that it may mean; rest says that nothing is known of its path.
func (r *resolver) matches(rule requestRule) (served []placedMatch, rest bool, message string) {
	guarded := guards(rule.filters) || r.protected(rule.name)
	for _, m := range rule.matches {
		before := r.expressions
		problem := checkMatch(m, &r.expressions)
		if problem == "" {
			served = append(served, placedMatch{m.Match, rankOf(m.Match)})
			continue
		}
		message = problem
		if !guarded {
			continue
		}
		r.expressions = before
		wide, ok := r.expressions.meant(m)
		switch {
		case m.anyPath:
			rest = true
			message += "; since a filter or a policy of the rule may refuse requests, those for the hostnames of the route get an error, unless a " +
				"route of another namespace matches them"
		case ok:
			served = append(served, wide)
			message += "; since a filter or a policy of the rule may refuse requests, all that it may mean get an error"
		}
	}
	return served, rest, message
}

// preflight answers what browsers ask before they send a request. The filter answers all of them, if only there is a backend that they
// could be sent to; none is. It has no policy if there is nothing to ask.
func (a action) preflight() action {
	if a.policy == nil || a.policy.CORS == nil || a.policy.CORS.Guard != ir.Enforced || a.policy.FailsClosed() {
		return action{}
	}
	return action{
		policy: &ir.RequestPolicy{CORS: a.policy.CORS, Origins: corsOrigins(a.policy.Origins)}, responseHeaders: a.responseHeaders,
		forward: &ir.Forward{Backends: []ir.WeightedBackend{{Weight: 1}}},
	}
}

// corsOrigins are the policies that CORS comes from.
func corsOrigins(origins []ir.Origin) []ir.Origin {
	if len(origins) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(origins), func(o ir.Origin) bool { return o.Setting != "cors" })
}

// settings are the policy of the rule while it is resolved.
func (a *action) settings() *ir.RequestPolicy {
	if a.policy == nil {
		a.policy = &ir.RequestPolicy{}
	}
	return a.policy
}

// share is an equal policy of a rule before, or this one. A policy without settings is nil.
func (r *resolver) share(policy *ir.RequestPolicy) *ir.RequestPolicy {
	if policy.IsZero() {
		return nil
	}
	for _, known := range r.policies {
		if reflect.DeepEqual(known, policy) {
			return known
		}
	}
	r.policies = append(r.policies, policy)
	return policy
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
	problems *ruleProblems
	// expressions are those of the rules so far, and policies their settings, each once.
	expressions expressions
	policies    []*ir.RequestPolicy
	// layers are the policies on the route, which is target.
	layers inherit.Sectioned
	target attach.Target
	// rejected are the rules that policies on the route reject.
	rejected []Rejected
}

// action resolves filters and backends. Of what cannot be served it returns a message.
func (r *resolver) action(filters []gwv1.HTTPRouteFilter, backends []backendRef) (action, string) {
	var a action
	forward := &ir.Forward{}
	if message := checkRepeated(filters, ""); message != "" {
		return failing(r.from.Kind), message
	}
	for i, f := range filters {
		r.problems.at.index, r.problems.at.filter = i, true
		if message := r.filter(f, &a, forward); message != "" {
			return failing(r.from.Kind), message
		}
	}
	switch {
	case a.unchecked:
		return failing(r.from.Kind), ""
	case a.redirect != nil && a.policy != nil && a.policy.CORS != nil:
		return failing(r.from.Kind), "filter CORS beside RequestRedirect is not served by this version; remove one"
	case a.redirect != nil && a.credential != nil:
		return failing(r.from.Kind), "credentialInjection has no effect beside RequestRedirect; remove one"
	case a.respond != nil:
		if message := besideResponse(a, forward); message != "" {
			return failing(r.from.Kind), message
		}
		return a, ""
	case a.redirect != nil:
		return a, ""
	}
	return r.forward(a, forward, backends)
}

// forward resolves the backends of a rule that sends requests on.
func (r *resolver) forward(a action, forward *ir.Forward, backends []backendRef) (action, string) {
	var origins []ir.Origin
	for i, b := range backends {
		r.problems.at.index, r.problems.at.filter = i, false
		weighted, message := r.backend(b)
		if message != "" {
			return failing(r.from.Kind), message
		}
		forward.Backends = append(forward.Backends, weighted)
		forward.Streams = forward.Streams || backend.WebSocket(r.view, r.in.Objects, weighted.Backend)
		if weighted.Session != nil {
			origins = append(origins, ir.Origin{Object: weighted.Backend.Target().Ref()})
		}
	}
	if len(origins) > 0 {
		slices.SortFunc(origins, ir.Origin.Compare)
		a.settings().Origins = slices.Compact(origins)
	}
	forward.Backends = r.withFallbacks(forward.Backends)
	a.forward = forward
	if !takesTraffic(forward.Backends) {
		a.forward, a.fail = nil, failure(r.from.Kind)
	}
	return a, ""
}

func takesTraffic(backends []ir.WeightedBackend) bool {
	for _, b := range backends {
		if !b.Backend.IsZero() && b.Weight > 0 {
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
		policy := cors(f.CORS)
		a.settings().CORS = policy
		return header.CheckNames("filter CORS: header", policy.Headers, policy.Expose)
	case f.Type == gwv1.HTTPRouteFilterExternalAuth && f.ExternalAuth != nil:
		return r.externalAuth(f.ExternalAuth, a)
	default:
		return r.extensionRef(f, a, forward)
	}
	return ""
}

// extensionRef applies a filter of Gatewright's own.
func (r *resolver) extensionRef(f gwv1.HTTPRouteFilter, a *action, forward *ir.Forward) string {
	switch {
	case f.Type != gwv1.HTTPRouteFilterExtensionRef:
		return unservedFilter(f, "")
	case isRouteFilter(f.ExtensionRef):
		return r.routeFilter(string(f.ExtensionRef.Name), a, forward)
	case isExtension(f.ExtensionRef):
		return r.extension(string(f.ExtensionRef.Name), a)
	default:
		return unservedFilter(f, "")
	}
}

const onBackend = " on a backend"

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
	if message := backendFilters(b.filters, &weighted); message != "" {
		return weighted, message
	}
	backend, picker, problem := backend.OfRule(r.view, r.in.Objects, r.from, b.BackendObjectReference, r.protocol)
	if problem != nil {
		r.problems.unresolvedRef(problem)
		return weighted, ""
	}
	weighted.Backend, weighted.Picker = backend, picker
	r.problems.used(weighted.Backend)
	if picker != nil && !picker.Broken && !picker.FailOpen {
		r.problems.used(picker.Backend)
	}
	if backend.Kind == ir.KindXBackend {
		var message string
		if weighted.Session, message = r.backendSession(backend); message != "" {
			return weighted, message
		}
	}
	return weighted, ""
}

// backendFilters applies the filters of one backend.
func backendFilters(filters []gwv1.HTTPRouteFilter, weighted *ir.WeightedBackend) string {
	if message := checkRepeated(filters, onBackend); message != "" {
		return message
	}
	for _, f := range filters {
		message := unservedFilter(f, onBackend)
		switch {
		case f.Type == gwv1.HTTPRouteFilterRequestHeaderModifier && f.RequestHeaderModifier != nil:
			message = requestHeaderEdit(f.RequestHeaderModifier, &weighted.RequestHeaders, &weighted.Rewrite)
		case f.Type == gwv1.HTTPRouteFilterResponseHeaderModifier && f.ResponseHeaderModifier != nil:
			message = headerEdit(f.ResponseHeaderModifier, &weighted.ResponseHeaders)
		case f.Type == gwv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil:
			message = rewrite(f.URLRewrite, &weighted.Rewrite)
		}
		if message != "" {
			return message
		}
	}
	return ""
}

// weight: the standard reads no weight as 1.
func weight(b gwv1.BackendRef) uint32 {
	if b.Weight == nil {
		return 1
	}
	return uint32(max(*b.Weight, 0))
}

func (r *resolver) mirror(f *gwv1.HTTPRequestMirrorFilter, forward *ir.Forward) {
	backend, problem := backend.Resolve(r.view, r.in.Objects, r.from, f.BackendRef, r.protocol)
	if problem != nil {
		r.problems.unresolvedRef(problem)
		return
	}
	r.problems.used(backend)
	m := ir.Mirror{Backend: backend, Numerator: 100, Denominator: 100}
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

// rewrite reads a URLRewrite filter. Of what cannot be served it returns a message.
func rewrite(f *gwv1.HTTPURLRewriteFilter, to **ir.Rewrite) string {
	if *to == nil {
		*to = &ir.Rewrite{}
	}
	if f.Path != nil && (*to).Path != nil {
		return twoPaths
	}
	if f.Path != nil {
		(*to).Path = pathEdit(f.Path)
	}
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
