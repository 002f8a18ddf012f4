package filter

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	oauth2v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/oauth2/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// OIDC has browsers log in at the provider that a route names.
const OIDC = "gatewright.oidc"

// tokenTimeout bounds one question for tokens.
const tokenTimeout = 10 * time.Second

var oidc = allRequired(OIDC, oidcRun)

func oidcRun(policy *ir.RequestPolicy) []run {
	o := policy.OIDC
	if o == nil || o.Guard == ir.Off {
		return nil
	}
	config := oauth2(o)
	// Where one kind of credentials is enough, nothing behind this filter verifies a token that it lets pass.
	if j := policy.JWT; o.PassBearer && !policy.AnyAuthentication() && j.Verifies(o.Policy) && !j.Optional && !j.FailOpen {
		config.PassThroughMatcher = []*routev3.HeaderMatcher{{
			Name: "authorization",
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
				StringMatch: StringMatch(ir.StringMatch{Kind: ir.Prefix, Value: "Bearer "}),
			},
		}}
	}
	return []run{{"envoy.filters.http.oauth2", &oauth2v3.OAuth2{Config: config}}}
}

// oauth2 answers 503 until proxies have its secrets.
func oauth2(o *ir.OIDC) *oauth2v3.OAuth2Config {
	config := &oauth2v3.OAuth2Config{
		TokenEndpoint: &corev3.HttpUri{
			Uri: o.TokenURI, HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: o.Token.String()}, Timeout: durationpb.New(tokenTimeout),
		},
		AuthorizationEndpoint: o.AuthorizationURI, EndSessionEndpoint: o.EndSessionURI,
		RedirectUri: redirectURI(o.RedirectURL), RedirectPathMatcher: exactPath(o.RedirectPath), SignoutPath: exactPath(o.LogoutPath),
		ForwardBearerToken: o.ForwardAccess, AuthScopes: o.Scopes, Resources: o.Resources,
		UseRefreshToken: wrapperspb.Bool(o.Refresh), DisableTokenEncryption: o.PlainTokens,
		DefaultExpiresIn: optional(o.TokenTTL), DefaultRefreshTokenExpiresIn: optional(o.RefreshTTL), CsrfTokenExpiresIn: optional(o.CSRFTTL),
		Credentials: &oauth2v3.OAuth2Credentials{
			ClientId:    o.ClientID,
			TokenSecret: &tlsv3.SdsSecretConfig{Name: ir.ClientSecret.NameFor(o.ClientSecret), SdsConfig: wire.ADS()},
			TokenFormation: &oauth2v3.OAuth2Credentials_HmacSecret{
				HmacSecret: &tlsv3.SdsSecretConfig{Name: ir.CookieKey.NameFor(o.ClientSecret), SdsConfig: wire.ADS()},
			},
			CookieDomain: o.CookieDomain,
			CookieNames: &oauth2v3.OAuth2Credentials_CookieNames{
				BearerToken: o.AccessCookie, IdToken: o.IDCookie, OauthHmac: "OauthHMAC" + o.Suffix, OauthExpires: "OauthExpires" + o.Suffix,
				RefreshToken: "RefreshToken" + o.Suffix, OauthNonce: "OauthNonce" + o.Suffix, CodeVerifier: "OauthCodeVerifier" + o.Suffix,
			},
		},
		CookieConfigs: cookieConfigs(o.SameSite),
	}
	if o.IDHeader != "" {
		config.ForwardIdToken = &oauth2v3.OAuth2TokenForwarding{Header: o.IDHeader}
	}
	for _, m := range o.NoRedirect {
		config.DenyRedirectMatcher = append(config.DenyRedirectMatcher, &routev3.HeaderMatcher{
			Name: m.Name, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: StringMatch(m.StringMatch)},
		})
	}
	return config
}

// redirectURI is a URL, or a path on the host of the request.
func redirectURI(url string) string {
	if url != "" && url[0] == '/' {
		return ir.RequestOrigin + wire.Literal(url)
	}
	return wire.Literal(url)
}

func exactPath(path string) *matcherv3.PathMatcher {
	return &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: StringMatch(ir.StringMatch{Value: path})}}
}

func optional(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func cookieConfigs(sameSite string) *oauth2v3.CookieConfigs {
	attribute, known := map[string]oauth2v3.CookieConfig_SameSite{
		"Lax": oauth2v3.CookieConfig_LAX, "Strict": oauth2v3.CookieConfig_STRICT, "None": oauth2v3.CookieConfig_NONE,
	}[sameSite]
	if !known {
		return nil
	}
	c := &oauth2v3.CookieConfig{SameSite: attribute}
	return &oauth2v3.CookieConfigs{
		BearerTokenCookieConfig: c, OauthHmacCookieConfig: c, OauthExpiresCookieConfig: c, IdTokenCookieConfig: c,
		RefreshTokenCookieConfig: c, OauthNonceCookieConfig: c, CodeVerifierCookieConfig: c,
	}
}
