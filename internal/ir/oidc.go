package ir

import "time"

// OIDC has browsers log in at an OpenID Connect provider.
type OIDC struct {
	Guard Guard `json:",omitempty"`
	// Policy is the policy that asks.
	Policy Name
	// Token is the server that proxies ask for tokens, at TokenURI.
	Token    Backend
	TokenURI string
	// AuthorizationURI and EndSessionURI are for browsers. The latter may be empty.
	AuthorizationURI, EndSessionURI string
	ClientID                        string
	// ClientSecret names the Secret with the credentials, see [Credential].
	ClientSecret string
	// RedirectURL is where the provider sends browsers back to; if it is relative, on the host of the request. RedirectPath is its path.
	RedirectURL, RedirectPath string
	LogoutPath                string
	// AccessCookie and IDCookie are names of cookies, and Suffix ends those of all others.
	AccessCookie, IDCookie, Suffix string
	CookieDomain                   string
	// SameSite is an attribute of cookies, a value of the API; empty for none.
	SameSite          string
	Scopes, Resources []string
	// ForwardAccess sends the access token to backends, and IDHeader the ID token, if it is not empty.
	ForwardAccess bool
	IDHeader      string
	// Refresh refreshes tokens. The times are zero for the defaults.
	Refresh                       bool
	TokenTTL, RefreshTTL, CSRFTTL time.Duration
	PlainTokens                   bool
	// NoRedirect are requests that get 401.
	NoRedirect []NamedMatch
	// PassBearer lets requests with a bearer token pass, which JWT of the same policy has to verify.
	PassBearer bool
}

func (o *OIDC) needs(n *Needs) {
	if o == nil || o.Guard != Enforced {
		return
	}
	n.backend(o.Token)
	n.credential(ClientSecret.NameFor(o.ClientSecret))
	n.credential(CookieKey.NameFor(o.ClientSecret))
}
