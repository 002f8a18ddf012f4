package route

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/routefilter"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	twoPaths = "two filters rewrite the path; remove one"
	twoHosts = "two filters rewrite the hostname; remove one"
)

// isRouteFilter reports whether a filter is an HTTPRouteFilter.
func isRouteFilter(ref *gwv1.LocalObjectReference) bool {
	return ref != nil && ref.Group == v1alpha1.GroupName && ref.Kind == gwv1.Kind(store.HTTPRouteFilter)
}

// routeFilter applies an HTTPRouteFilter. One that cannot be found or served makes the rule answer 500.
func (r *resolver) routeFilter(name string, a *action, forward *ir.Forward) string {
	resolved, problem, message := routefilter.Resolve(r.in.routeFilters(r.view, r.from), name)
	if problem != nil {
		r.problems.unresolvedRef(problem)
		a.unchecked = true
		return ""
	}
	if message != "" {
		return message
	}
	a.requestHeaders = a.requestHeaders.And(resolved.RequestHeaders)
	a.responseHeaders = a.responseHeaders.And(resolved.ResponseHeaders)
	if resolved.Respond != nil {
		if a.respond != nil {
			return "two filters have a directResponse; remove one"
		}
		a.respond = resolved.Respond
	}
	if resolved.Credential != nil {
		if a.credential != nil {
			return "two filters have a credentialInjection; remove one"
		}
		a.credential = resolved.Credential
	}
	return addRewrite(&forward.Rewrite, resolved.Rewrite)
}

// routeFilters is what HTTPRouteFilters of a route are resolved from.
func (in Inputs) routeFilters(v *store.View, from refs.Origin) routefilter.Inputs {
	return routefilter.Inputs{View: v, Objects: in.Objects, Namespace: from.Namespace, GRPC: from.Kind == string(store.GRPCRoute)}
}

// addRewrite adds the rewrite of an HTTPRouteFilter to what filters before it ask for.
func addRewrite(to **ir.Rewrite, more *ir.Rewrite) string {
	if more == nil {
		return ""
	}
	if *to == nil {
		*to = &ir.Rewrite{}
	}
	rewrite := *to
	switch {
	case more.Path != nil && rewrite.Path != nil:
		return twoPaths
	case more.Host.FromRequest() && (rewrite.Hostname != "" || rewrite.Host.FromRequest()):
		return twoHosts
	}
	if more.Path != nil {
		rewrite.Path = more.Path
	}
	if more.Host != nil {
		rewrite.Host = more.Host
	}
	return ""
}

// besideResponse says which filter has no effect beside an answer without a backend.
func besideResponse(a action, forward *ir.Forward) string {
	switch {
	case a.redirect != nil:
		return "a directResponse beside RequestRedirect has no effect; remove one"
	case forward.Rewrite != nil:
		return "a filter that rewrites the URL has no effect beside a directResponse; remove one"
	case a.credential != nil:
		return "credentialInjection has no effect beside a directResponse; remove one"
	case len(forward.Mirrors) > 0:
		return "filter RequestMirror has no effect beside a directResponse; remove one"
	case a.policy != nil && a.policy.CORS != nil:
		return "filter CORS beside a directResponse is not served by this version; remove one"
	default:
		return ""
	}
}
