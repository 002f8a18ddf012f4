package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	limitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	issuer = "https://issuer.example.com"
	// limit is one that is not reached.
	limit = 1_000_000
)

// lineUpPolicies has a route without policies, with and without the filters that others have use for, and one that asks for a token and
// limits requests, by us and by hand.
func (r *race) lineUpPolicies(backend int, keys keyPair) ([]*subject, error) {
	keySet, token, err := newToken()
	if err != nil {
		return nil, err
	}
	with := func(name string, policy *ir.RequestPolicy, change func(*configuration), headers ...string) *subject {
		return &subject{name: name, headers: headers, build: func() (*configuration, error) {
			c, err := ours(backend, r.domain, keys, policy)
			if err == nil && change != nil {
				change(c)
			}
			return c, err
		}}
	}
	bearer := "authorization: Bearer " + token
	limited := &ir.LocalRateLimit{Rules: []ir.RateRule{{Requests: limit, Unit: time.Second}}}
	verified := &ir.JWT{
		Policy:    ir.Name{Namespace: "bench", Name: "policy"},
		Providers: []ir.JWTProvider{{Name: "issuer", Issuer: issuer, Keys: keySet}},
	}
	byHand := func(name string, filters []*hcmv3.HttpFilter, headers ...string) *subject {
		return &subject{name: name, headers: headers, build: func() (*configuration, error) {
			c, err := bare(backend, keys)
			if err != nil {
				return nil, err
			}
			c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.HttpFilters = slices.Concat(filters, m.GetHttpFilters()) })
			return c, nil
		}}
	}
	return []*subject{
		with("without policies", nil, nil),
		with("the same again", nil, nil),
		with("− all filters that are disabled", nil, withoutFilters(slices.Collect(maps.Keys(filter.Unneeded(true)))...)),
		byHand("by hand, without policies", nil),
		with("rate limit", &ir.RequestPolicy{RateLimit: limited}, nil),
		byHand("by hand, rate limit", []*hcmv3.HttpFilter{limitByHand()}),
		with("JWT", &ir.RequestPolicy{JWT: verified}, nil, bearer),
		byHand("by hand, JWT", []*hcmv3.HttpFilter{jwtByHand(keySet)}, bearer),
		with("JWT and rate limit", &ir.RequestPolicy{JWT: verified, RateLimit: limited}, nil, bearer),
		byHand("by hand, JWT and rate limit", []*hcmv3.HttpFilter{jwtByHand(keySet), limitByHand()}, bearer),
	}, nil
}

func httpFilter(name string, config proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(config)}}
}

func limitByHand() *hcmv3.HttpFilter {
	always := &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{Numerator: 100}}
	return httpFilter("envoy.filters.http.local_ratelimit", &limitv3.LocalRateLimit{
		StatPrefix: "bench", FilterEnabled: always, FilterEnforced: always,
		TokenBucket: &typev3.TokenBucket{
			MaxTokens: limit, TokensPerFill: wrapperspb.UInt32(limit), FillInterval: durationpb.New(time.Second),
		},
	})
}

func jwtByHand(keySet string) *hcmv3.HttpFilter {
	return httpFilter("envoy.filters.http.jwt_authn", &jwtv3.JwtAuthentication{
		Providers: map[string]*jwtv3.JwtProvider{"issuer": {
			Issuer: issuer, Forward: true, PayloadInMetadata: "claims",
			JwksSourceSpecifier: &jwtv3.JwtProvider_LocalJwks{LocalJwks: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: keySet},
			}},
		}},
		Rules: []*jwtv3.RequirementRule{{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			RequirementType: &jwtv3.RequirementRule_Requires{Requires: &jwtv3.JwtRequirement{
				RequiresType: &jwtv3.JwtRequirement_ProviderName{ProviderName: "issuer"},
			}},
		}},
	})
}

// newToken is a key set, and a token that it verifies.
func newToken() (keySet, token string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return "", "", fmt.Errorf("encode a key: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	keySet = fmt.Sprintf(
		`{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"1","x":%q,"y":%q}]}`, encode(public[1:33]), encode(public[33:]),
	)
	claims, err := json.Marshal(map[string]any{"iss": issuer, "sub": "bench", "exp": time.Now().Add(24 * time.Hour).Unix()})
	if err != nil {
		return "", "", fmt.Errorf("encode claims: %w", err)
	}
	text := encode([]byte(`{"alg":"ES256","typ":"JWT","kid":"1"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", "", fmt.Errorf("sign a token: %w", err)
	}
	return keySet, text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)), nil
}
