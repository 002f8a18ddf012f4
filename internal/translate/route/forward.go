package route

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// UnresolvedBackend is where the share of a backend goes that cannot be resolved. Envoy answers it with an error.
const UnresolvedBackend = wire.UnresolvedBackend

func forward(r *routev3.Route, rule *ir.Rule, policy *ir.RequestPolicy, replacement string) {
	f := rule.Forward
	backends := slices.DeleteFunc(slices.Clone(f.Backends), func(b ir.WeightedBackend) bool { return b.Weight == 0 })
	if len(backends) == 0 {
		fail(r, unserved(rule))
		return
	}
	action := &routev3.RouteAction{
		ClusterNotFoundResponseCode: notFoundCodes[unserved(rule)],
		// Clusters have limits of their own for what clients send; see there.
		Priority: corev3.RoutingPriority_HIGH,
	}
	rewrite(action, f.Rewrite, replacement)
	timeouts(action, policy, f.Streams || rule.Match.GRPC)
	retries(r, action, policy, backends)
	action.UpgradeConfigs = upgrades(policy.Upgrades)
	action.RequestMirrorPolicies = mirrors(f.Mirrors, action.GetTimeout().AsDuration() > 0)

	requestHeaders := rule.RequestHeaders
	if slices.ContainsFunc(backends, func(b ir.WeightedBackend) bool { return !b.RequestHeaders.IsZero() }) {
		// Envoy applies a backend's edit before the route's. A request meets the rule first, so both become one edit at the backend.
		for i := range backends {
			backends[i].RequestHeaders = then(rule.RequestHeaders, backends[i].RequestHeaders)
		}
		requestHeaders = nil
	}
	r.RequestHeadersToAdd, r.RequestHeadersToRemove = headers(requestHeaders)
	destination(r, action, backends, policy.AsksWithContext())
	action.AppendXForwardedHost = appendsHost(action, rule, backends)
	r.Action = &routev3.Route_Route{Route: action}
	filter.AddAuthContext(r, policy)
}

// appendsHost reports whether a request is to name the host that the client asked for: where the host is rewritten, since applications make
// links of it, unless the user edits the header. Envoy would append to what the edits leave. The standard leaves it open.
func appendsHost(action *routev3.RouteAction, rule *ir.Rule, backends []ir.WeightedBackend) bool {
	rewrites := func(b ir.WeightedBackend) bool { return hostname(b) != "" }
	edited := func(b ir.WeightedBackend) bool { return edits(b.RequestHeaders, forwardedHost) }
	if edits(rule.RequestHeaders, forwardedHost) || slices.ContainsFunc(backends, edited) {
		return false
	}
	if r := rule.Forward.Rewrite; r != nil && r.Host != nil && r.Host.Hidden {
		return false
	}
	return action.GetHostRewriteSpecifier() != nil || slices.ContainsFunc(backends, rewrites)
}

const forwardedHost = "x-forwarded-host"

var notFoundCodes = map[int]routev3.RouteAction_ClusterNotFoundResponseCode{
	internalServerError: routev3.RouteAction_INTERNAL_SERVER_ERROR,
	serviceUnavailable:  routev3.RouteAction_SERVICE_UNAVAILABLE,
}

// destination says which cluster gets a request. A single one that edits nothing needs no draw, unless settings have to be drawn as well.
func destination(r *routev3.Route, action *routev3.RouteAction, backends []ir.WeightedBackend, drawn bool) {
	common := hostname(backends[0])
	differ := slices.ContainsFunc(backends, func(b ir.WeightedBackend) bool { return hostname(b) != common })
	if common != "" && !differ {
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: common}
	}
	if only := backends[0]; !drawn && len(backends) == 1 && only.RequestHeaders.IsZero() && only.ResponseHeaders.IsZero() {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: clusterName(only.Backend)}
		r.TypedPerFilterConfig = filter.Backend(r.TypedPerFilterConfig, &backends[0])
		return
	}
	shares := make([]*routev3.WeightedCluster_ClusterWeight, len(backends))
	for i, b := range backends {
		share := &routev3.WeightedCluster_ClusterWeight{Name: clusterName(b.Backend), Weight: wrapperspb.UInt32(b.Weight)}
		share.RequestHeadersToAdd, share.RequestHeadersToRemove = headers(b.RequestHeaders)
		share.ResponseHeadersToAdd, share.ResponseHeadersToRemove = headers(b.ResponseHeaders)
		share.TypedPerFilterConfig = filter.Backend(nil, &backends[i])
		if name := hostname(b); name != "" && differ {
			share.HostRewriteSpecifier = &routev3.WeightedCluster_ClusterWeight_HostRewriteLiteral{HostRewriteLiteral: name}
		}
		shares[i] = share
	}
	action.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: &routev3.WeightedCluster{Clusters: shares}}
}

// hostname is what a backend wants the Host header to be, or empty.
func hostname(b ir.WeightedBackend) string {
	if b.Rewrite == nil {
		return ""
	}
	return b.Rewrite.Hostname
}

func clusterName(backend ir.Backend) string {
	if backend.IsZero() {
		return UnresolvedBackend
	}
	return backend.String()
}

func rewrite(action *routev3.RouteAction, r *ir.Rewrite, replacement string) {
	if r == nil {
		return
	}
	rewriteHost(action, r)
	action.PathRewrite = wire.Literal(fullPath(r.Path))
	action.PrefixRewrite = replacement
	if r.Path != nil && r.Path.Regex != nil {
		action.RegexRewrite = regexEdit(r.Path.Regex)
	}
}

func rewriteHost(action *routev3.RouteAction, r *ir.Rewrite) {
	switch {
	case r.Hostname != "":
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: r.Hostname}
	case r.Host == nil:
	case r.Host.Header != "":
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteHeader{HostRewriteHeader: r.Host.Header}
	case r.Host.Path != nil:
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewritePathRegex{HostRewritePathRegex: regexEdit(r.Host.Path)}
	case r.Host.Backend:
		action.HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
	}
}

func regexEdit(e *ir.RegexEdit) *matcherv3.RegexMatchAndSubstitute {
	return &matcherv3.RegexMatchAndSubstitute{Pattern: regex(e.Pattern), Substitution: e.Substitution}
}
