package explain

import (
	"crypto/sha1" //nolint:gosec // the format of htpasswd that Envoy reads
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// authenticate asks for the credentials that the policy wants: all kinds, or one of them.
func (x *exchange) authenticate(s settings) bool {
	switch {
	case s.closed:
		return !s.shared || x.sharedToken(s)
	case s.AnyAuthentication():
		return x.anyCredential(s)
	}
	return x.apiKey(s) && x.password(s) && x.login(s) && x.token(s)
}

// anyCredential asks for the kind of credentials that the request brings along, or the last.
func (x *exchange) anyCredential(s settings) bool {
	wantsKey := s.APIKeyAuth != nil && s.APIKeyAuth.Guard != ir.Off
	wantsPassword := s.BasicAuth != nil && s.BasicAuth.Guard != ir.Off
	wantsToken := s.JWT != nil && s.JWT.Guard != ir.Off
	wantsLogin := s.OIDC != nil && s.OIDC.Guard != ir.Off
	switch {
	case wantsKey && x.hasKey(s.APIKeyAuth):
		return x.apiKey(s)
	case wantsPassword && strings.HasPrefix(x.headers.first("authorization"), "Basic "):
		return x.password(s)
	case wantsToken && x.hasToken(s.JWT):
		return x.token(s)
	case wantsLogin:
		return x.login(s)
	case wantsToken:
		return x.token(s)
	case wantsPassword:
		return x.password(s)
	default:
		return x.apiKey(s)
	}
}

// deny answers 401.
func (x *exchange) deny(s settings, setting, detail, fix string) bool {
	x.fail(http.StatusUnauthorized, Hop{Name: hopFilter, Object: setting, Detail: detail, Origin: s.origin(setting)}, fix)
	return false
}

func (x *exchange) hasKey(a *ir.APIKeyAuth) bool {
	return slices.ContainsFunc(a.Sources, func(source ir.APIKeySource) bool {
		switch {
		case source.Header != "":
			return len(x.headers.values(source.Header)) > 0
		case source.Query != "":
			_, ok := queryParameter(x.path, source.Query)
			return ok
		default:
			_, ok := x.headers.cookie(source.Cookie)
			return ok
		}
	})
}

// apiKey asks for an API key.
func (x *exchange) apiKey(s settings) bool {
	a := s.APIKeyAuth
	if a == nil || a.Guard == ir.Off {
		return true
	}
	key := x.keyOf(a)
	if key == "" {
		return x.deny(s, "apiKeyAuth", "the request has no API key", "send a key where the policy looks for one")
	}
	if !slices.ContainsFunc(a.Keys, func(k ir.APIKey) bool { return string(k.Key) == key }) {
		return x.deny(s, "apiKeyAuth", "no client has the API key of the request", "send the key of a client")
	}
	return true
}

func (x *exchange) keyOf(a *ir.APIKeyAuth) string {
	for _, source := range a.Sources {
		var key string
		switch {
		case source.Header != "":
			key = strings.TrimPrefix(x.headers.first(source.Header), "Bearer ")
		case source.Query != "":
			raw, _ := queryParameter(x.path, source.Query)
			if decoded, err := url.PathUnescape(raw); err == nil {
				raw = decoded
			}
			key = raw
		default:
			key, _ = x.headers.cookie(source.Cookie)
		}
		if key != "" {
			return key
		}
	}
	return ""
}

// password asks for a user name and a password.
func (x *exchange) password(s settings) bool {
	a := s.BasicAuth
	if a == nil || a.Guard == ir.Off {
		return true
	}
	encoded, ok := strings.CutPrefix(x.headers.first("authorization"), "Basic ")
	if !ok {
		return x.deny(s, "basicAuth", "the request has no user name and password", "send them in the header Authorization")
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	user, password, ok := strings.Cut(string(decoded), ":")
	if err != nil || !ok || !validUser(string(a.Users), user, password) {
		return x.deny(s, "basicAuth", fmt.Sprintf("user %q does not exist, or has another password", user), "send valid credentials")
	}
	return true
}

// validUser looks for a user and its password in a file of htpasswd.
func validUser(users, user, password string) bool {
	sum := sha1.Sum([]byte(password)) //nolint:gosec // see above
	want := user + ":{SHA}" + base64.StdEncoding.EncodeToString(sum[:])
	for line := range strings.Lines(users) {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// login has browsers log in.
func (x *exchange) login(s settings) bool {
	o := s.OIDC
	if o == nil || o.Guard == ir.Off {
		return true
	}
	if _, ok := x.headers.cookie("OauthHMAC" + o.Suffix); ok || x.path == o.LogoutPath || strings.HasPrefix(x.path, o.RedirectPath) {
		x.alternative(0, "oidc", "the session of the request is not valid", s.origin("oidc"))
		return true
	}
	if o.PassBearer && strings.HasPrefix(x.headers.first("authorization"), "Bearer ") {
		return true
	}
	for _, m := range o.NoRedirect {
		if slices.ContainsFunc(x.headers.values(m.Name), func(v string) bool { return matches(m.StringMatch, v) }) {
			return x.deny(s, "oidc", "the client has not logged in, and its requests are not redirected", "log in, or send a token")
		}
	}
	detail := "the client has not logged in; it is redirected to the provider"
	x.hop(Hop{Name: hopFilter, Object: "oidc", Detail: detail, Origin: s.origin("oidc")})
	x.answer(http.StatusFound, detail)
	x.out.Result, x.out.Location = Redirected, o.AuthorizationURI
	x.alternative(0, "oidc", "proxies do not have its secrets yet", s.origin("oidc"))
	return false
}

// hasToken says whether a token is at one of the places where it is looked for.
func (x *exchange) hasToken(j *ir.JWT) bool {
	return slices.ContainsFunc(j.Providers, func(p ir.JWTProvider) bool {
		if len(p.Headers)+len(p.Cookies)+len(p.Params) == 0 {
			_, query := queryParameter(x.path, "access_token")
			return query || strings.HasPrefix(x.headers.first("authorization"), "Bearer ")
		}
		return slices.ContainsFunc(p.Headers, func(h ir.TokenHeader) bool {
			return slices.ContainsFunc(x.headers.values(h.Name), func(v string) bool { return strings.Contains(v, h.Prefix) })
		}) || slices.ContainsFunc(p.Cookies, func(name string) bool { _, ok := x.headers.cookie(name); return ok }) ||
			slices.ContainsFunc(p.Params, func(name string) bool { _, ok := queryParameter(x.path, name); return ok })
	})
}

// sharedToken asks for the token that all rules of a virtual host ask for.
func (x *exchange) sharedToken(s settings) bool {
	return !s.shared || s.AnyAuthentication() || x.token(s)
}

// token asks for a token. Whether one is valid is not known here.
func (x *exchange) token(s settings) bool {
	j := s.JWT
	switch {
	case j == nil || j.Guard == ir.Off || j.FailOpen:
		return true
	case x.hasToken(j):
		x.alternative(0, "jwt", "the token is not valid", s.origin("jwt"))
		return true
	case j.Optional:
		return true
	default:
		return x.deny(s, "jwt", "the request has no token", "send a token of one of the providers")
	}
}
