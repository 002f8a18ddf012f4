package security

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/values"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	defaultCallback = "/oauth2/callback"
	defaultLogout   = "/logout"
	openID          = "openid"
	// suffixLength is how much of a digest the names of cookies have.
	suffixLength = 8
)

func (r *resolver) oidc(o *v1alpha1.OIDC) *ir.OIDC {
	auth := &ir.OIDC{Policy: r.policy}
	auth.Guard = r.guard(o.Mode, func() {
		if o.Provider == nil || o.ClientSecret == nil {
			r.fail("oidc needs provider and clientSecret; set them, or mode None")
			return
		}
		r.oidcProvider(o.Provider, auth)
		r.oidcClient(o, auth)
		r.oidcCookies(o, auth)
		r.oidcPaths(o, auth)
		auth.Scopes, auth.Resources = slices.Clone(o.Scopes), o.Resources
		if !slices.Contains(auth.Scopes, openID) {
			auth.Scopes = append(auth.Scopes, openID)
		}
		auth.ForwardAccess, auth.PlainTokens = values.IsTrue(o.ForwardAccessToken), values.IsTrue(o.DisableTokenEncryption)
		auth.PassBearer, auth.Refresh = values.IsTrue(o.PassThroughAuthHeader), o.RefreshToken == nil || *o.RefreshToken
		if o.ForwardIDToken != nil {
			auth.IDHeader = r.forwarded("oidc.forwardIDToken.header", &o.ForwardIDToken.Header)
		}
		if auth.PassBearer && auth.IDHeader == "authorization" {
			r.fail("oidc.passThroughAuthHeader and oidc.forwardIDToken cannot both use the Authorization header; use another header")
		}
		auth.TokenTTL = r.duration("oidc.defaultTokenTTL", o.DefaultTokenTTL, 0, time.Second)
		auth.RefreshTTL = r.duration("oidc.defaultRefreshTokenTTL", o.DefaultRefreshTokenTTL, 0, time.Second)
		auth.CSRFTTL = r.duration("oidc.csrfTokenTTL", o.CSRFTokenTTL, 0, time.Second)
		if o.DenyRedirect != nil {
			for i, h := range o.DenyRedirect.Headers {
				r.denyRedirect(i, h, auth)
			}
		}
	})
	return auth
}

func (r *resolver) oidcProvider(p *v1alpha1.OIDCProvider, auth *ir.OIDC) {
	auth.AuthorizationURI = r.endpoint("oidc.provider.authorizationEndpoint", p.AuthorizationEndpoint)
	auth.TokenURI = r.endpoint("oidc.provider.tokenEndpoint", p.TokenEndpoint)
	if p.EndSessionEndpoint != nil {
		auth.EndSessionURI = r.endpoint("oidc.provider.endSessionEndpoint", *p.EndSessionEndpoint)
	}
	if parsed, err := url.Parse(auth.TokenURI); err == nil && parsed.Host != "" {
		auth.Token = r.server("oidc.provider", &p.SecurityBackend, parsed, ir.BackendHTTP1)
	}
}

// endpoint is a URL that can be part of a header.
func (r *resolver) endpoint(field, text string) string {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.Fragment != "" ||
		(parsed.Scheme != "http" && parsed.Scheme != "https") || !utf8.ValidString(text) || header.CheckValue(field, text) != "" {
		r.fail("%s %q is not a URL; write it like https://issuer.example/path", field, text)
	}
	return text
}

func (r *resolver) oidcClient(o *v1alpha1.OIDC, auth *ir.OIDC) {
	switch {
	case o.ClientID != nil:
		auth.ClientID = *o.ClientID
	case o.ClientIDRef != nil:
		_, auth.ClientID = r.credential("oidc.clientIDRef", *o.ClientIDRef, v1alpha1.OIDCClientIDKey)
	default:
		r.fail("oidc needs one of clientID and clientIDRef; set one")
	}
	auth.ClientSecret, _ = r.credential("oidc.clientSecret", *o.ClientSecret, v1alpha1.OIDCClientSecretKey)
}

// credential is a value of a Secret, and the name of the Secret.
func (r *resolver) credential(field string, ref gwv1.SecretObjectReference, key string) (name, value string) {
	secret := r.secret(field, ref)
	if secret == nil {
		return "", ""
	}
	name, value = store.KeyOf(secret), strings.TrimSpace(string(secret.Data[key]))
	if value == "" || !utf8.ValidString(value) {
		r.unresolvedSecret("%s: Secret %s has no text under the key %s; add it", field, name, key)
	}
	return name, value
}

func (r *resolver) oidcCookies(o *v1alpha1.OIDC, auth *ir.OIDC) {
	sum := sha256.Sum256([]byte(r.policy.String()))
	auth.Suffix = "-" + hex.EncodeToString(sum[:])[:suffixLength]
	auth.AccessCookie, auth.IDCookie = "AccessToken"+auth.Suffix, "IdToken"+auth.Suffix
	if n := o.CookieNames; n != nil {
		if n.AccessToken != nil {
			auth.AccessCookie = r.token("oidc.cookieNames.accessToken", *n.AccessToken)
		}
		if n.IDToken != nil {
			auth.IDCookie = r.token("oidc.cookieNames.idToken", *n.IDToken)
		}
	}
	if auth.AccessCookie == auth.IDCookie {
		r.fail("oidc.cookieNames are the same; use two names")
	}
	if o.CookieConfig != nil && o.CookieConfig.SameSite != nil {
		auth.SameSite = string(*o.CookieConfig.SameSite)
	}
	if o.CookieDomain != nil {
		auth.CookieDomain = *o.CookieDomain
		if strings.ContainsAny(auth.CookieDomain, " \",;<>\\") || header.CheckValue("", auth.CookieDomain) != "" {
			r.fail("oidc.cookieDomain %q is not a domain; write it like example.com", auth.CookieDomain)
		}
	}
}

func (r *resolver) oidcPaths(o *v1alpha1.OIDC, auth *ir.OIDC) {
	auth.RedirectURL, auth.RedirectPath, auth.LogoutPath = defaultCallback, defaultCallback, defaultLogout
	if o.LogoutPath != nil {
		auth.LogoutPath = r.plainPath("oidc.logoutPath", *o.LogoutPath)
	}
	if o.RedirectURL != nil {
		r.redirectURL(*o.RedirectURL, auth)
	}
	if auth.RedirectPath == auth.LogoutPath {
		r.fail("oidc.redirectURL and oidc.logoutPath have the same path; use two paths")
	}
}

func (r *resolver) redirectURL(text string, auth *ir.OIDC) {
	if path, relative := strings.CutPrefix(text, ir.RequestOrigin); relative {
		auth.RedirectURL = r.plainPath("oidc.redirectURL", path)
		auth.RedirectPath = auth.RedirectURL
		return
	}
	auth.RedirectURL = r.endpoint("oidc.redirectURL", text)
	parsed, err := url.Parse(auth.RedirectURL)
	if err == nil {
		auth.RedirectPath = r.plainPath("oidc.redirectURL", parsed.Path)
	}
	if err != nil || parsed.RawQuery != "" || strings.Contains(text, "%") {
		r.fail("oidc.redirectURL %q has a query or a percent sign; write a URL, or a path behind %s", text, ir.RequestOrigin)
	}
}

func (r *resolver) plainPath(field, path string) string {
	if !authPath.MatchString(path) {
		r.fail("%s: %q is not a path; begin it with a slash, and leave out the query", field, path)
	}
	return path
}

func (r *resolver) denyRedirect(index int, h v1alpha1.OIDCDenyRedirectHeader, auth *ir.OIDC) {
	m, ok := r.match(index, h.StringMatch)
	if ok {
		name := strings.ToLower(r.token("oidc.denyRedirect.headers", string(h.Name)))
		auth.NoRedirect = append(auth.NoRedirect, ir.NamedMatch{Name: name, StringMatch: m})
	}
}

func (r *resolver) match(index int, m v1alpha1.StringMatch) (ir.StringMatch, bool) {
	kind := v1alpha1.StringMatchExact
	if m.Type != nil {
		kind = *m.Type
	}
	switch kind {
	case v1alpha1.StringMatchPrefix:
		return ir.StringMatch{Kind: ir.Prefix, Value: m.Value}, true
	case v1alpha1.StringMatchSuffix:
		return ir.StringMatch{Kind: ir.Suffix, Value: m.Value}, true
	case v1alpha1.StringMatchRegularExpression:
		if err := r.expressions.Take(m.Value); err != nil {
			r.fail("oidc.denyRedirect.headers[%d]: %v", index, err)
			return ir.StringMatch{}, false
		}
		return ir.StringMatch{Kind: ir.Regex, Value: m.Value}, true
	case v1alpha1.StringMatchExact:
		return ir.StringMatch{Value: m.Value}, true
	default:
		r.fail("oidc.denyRedirect.headers[%d]: type %q is not known; use Exact, Prefix, Suffix or RegularExpression", index, kind)
		return ir.StringMatch{}, false
	}
}
