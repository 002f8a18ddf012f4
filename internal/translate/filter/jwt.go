package filter

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// JWT verifies the tokens that a route asks for.
	JWT = "gatewright.jwt"
	// JWTBeforeRouting does so for routes whose tokens may lead to another route, and chooses the route again. What that one asks for is
	// checked behind it, as if the request had come there at once.
	JWTBeforeRouting = "gatewright.jwt_before_routing"

	jwtName = "envoy.filters.http.jwt_authn"
	// keysTimeout bounds one attempt to fetch keys.
	keysTimeout = 5 * time.Second
)

var jwt = runsOnce(JWT, unlessAny(jwtRun))

func jwtRun(policy *ir.RequestPolicy) []run {
	if policy.JWT == nil || policy.JWT.Guard == ir.Off {
		return nil
	}
	return []run{{jwtName, jwtAuthn(policy.JWT, false)}}
}

var jwtBeforeRouting = runsOnce(JWTBeforeRouting, func(policy *ir.RequestPolicy) []run {
	if !policy.JWT.Reroutes() || policy.AnyAuthentication() {
		return nil
	}
	return []run{{jwtName, jwtAuthn(policy.JWT, true)}}
})

// spaceDelimited are claims with several words, of which rules look for one.
var spaceDelimited = &jwtv3.JwtProvider_NormalizePayload{SpaceDelimitedClaims: ir.ScopeClaims}

// ClaimsKey is where the claims of a provider are in the metadata of a request. It has the policy, so that no claims of another provider
// of the same name are taken for them.
func ClaimsKey(policy ir.Name, provider string) string { return policy.String() + "/" + provider }

// jwtAuthn is the same for all requests: which of them it is for is the choice of the route.
func jwtAuthn(j *ir.JWT, reroute bool) *jwtv3.JwtAuthentication {
	config := &jwtv3.JwtAuthentication{Providers: map[string]*jwtv3.JwtProvider{}}
	var accepted []*jwtv3.JwtRequirement
	for i := range j.Providers {
		p := &j.Providers[i]
		config.Providers[p.Name] = provider(j.Policy, p, reroute)
		accepted = append(accepted, &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_ProviderName{ProviderName: p.Name}})
	}
	switch {
	case j.FailOpen:
		accepted = append(accepted, &jwtv3.JwtRequirement{
			RequiresType: &jwtv3.JwtRequirement_AllowMissingOrFailed{AllowMissingOrFailed: &emptypb.Empty{}},
		})
	case j.Optional:
		accepted = append(accepted, &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_AllowMissing{AllowMissing: &emptypb.Empty{}}})
	}
	requirement := accepted[0]
	if len(accepted) > 1 {
		requirement = &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_RequiresAny{
			RequiresAny: &jwtv3.JwtRequirementOrList{Requirements: accepted},
		}}
	}
	config.Rules = []*jwtv3.RequirementRule{{
		Match:           &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		RequirementType: &jwtv3.RequirementRule_Requires{Requires: requirement},
	}}
	return config
}

func provider(policy ir.Name, p *ir.JWTProvider, reroute bool) *jwtv3.JwtProvider {
	config := &jwtv3.JwtProvider{
		Issuer: p.Issuer, Audiences: p.Audiences, Forward: true, FromCookies: p.Cookies, FromParams: p.Params,
		PayloadInMetadata: ClaimsKey(policy, p.Name), NormalizePayloadInMetadata: spaceDelimited,
		ClearRouteCache: reroute && p.Reroute,
	}
	for _, h := range p.Headers {
		config.FromHeaders = append(config.FromHeaders, &jwtv3.JwtHeader{Name: h.Name, ValuePrefix: h.Prefix})
	}
	for _, c := range p.Claims {
		config.ClaimToHeaders = append(config.ClaimToHeaders, &jwtv3.JwtClaimToHeader{HeaderName: c.Header, ClaimName: c.Claim})
	}
	if p.Remote == nil {
		config.JwksSourceSpecifier = &jwtv3.JwtProvider_LocalJwks{LocalJwks: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: p.Keys},
		}}
		return config
	}
	config.JwksSourceSpecifier = &jwtv3.JwtProvider_RemoteJwks{RemoteJwks: &jwtv3.RemoteJwks{
		HttpUri: &corev3.HttpUri{
			Uri: p.Remote.URI, HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: p.Remote.Backend.String()},
			Timeout: durationpb.New(keysTimeout),
		},
		CacheDuration: durationpb.New(p.Remote.Cache),
		// The main thread fetches keys for all workers, before a request needs them.
		AsyncFetch: &jwtv3.JwksAsyncFetch{FastListener: true, FailedRefetchDuration: durationpb.New(p.Remote.Retry)},
	}}
	return config
}
