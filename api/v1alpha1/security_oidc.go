package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// The keys of Secrets with the credentials of an OIDC client.
const (
	OIDCClientIDKey     = "client-id"
	OIDCClientSecretKey = "client-secret"
)

// OIDC sends browsers to an OpenID Connect provider to log in, and keeps their tokens in cookies.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) ? !(has(self.provider) || has(self.clientID) || has(self.clientIDRef) || has(self.clientSecret)) : has(self.provider) && has(self.clientSecret) && has(self.clientID) != has(self.clientIDRef)",message="set provider, clientSecret and one of clientID and clientIDRef, or mode None alone"
// +kubebuilder:validation:XValidation:rule="!(has(self.forwardAccessToken) && self.forwardAccessToken && has(self.forwardIDToken) && self.forwardIDToken.header.lowerAscii() == 'authorization')",message="forwardAccessToken and forwardIDToken cannot both use the Authorization header"
type OIDC struct {
	// Mode None turns off the setting of a less specific policy. It stands alone.
	//
	// +optional
	Mode *SecurityMode `json:"mode,omitempty"`

	// Provider is the OpenID Connect provider.
	//
	// +optional
	Provider *OIDCProvider `json:"provider,omitempty"`

	// ClientID is the ID that the provider knows the application by.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ClientID *string `json:"clientID,omitempty"`

	// ClientIDRef is a Secret with the ID under the key client-id.
	//
	// +optional
	ClientIDRef *gwv1.SecretObjectReference `json:"clientIDRef,omitempty"`

	// ClientSecret is a Secret with the client secret under the key client-secret. One in another namespace needs a ReferenceGrant.
	//
	// +optional
	ClientSecret *gwv1.SecretObjectReference `json:"clientSecret,omitempty"`

	// CookieNames are names for the cookies with the tokens. By default they end with a digest of the policy's name.
	//
	// +optional
	CookieNames *OIDCCookieNames `json:"cookieNames,omitempty"`

	// CookieConfig are attributes of the cookies.
	//
	// +optional
	CookieConfig *OIDCCookieConfig `json:"cookieConfig,omitempty"`

	// CookieDomain is the domain whose hosts share the cookies. By default each host has its own.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	CookieDomain *string `json:"cookieDomain,omitempty"`

	// Scopes are asked for beside openid.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Scopes []string `json:"scopes,omitempty"`

	// Resources are asked for.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=set
	// +optional
	Resources []string `json:"resources,omitempty"`

	// RedirectURL is where the provider sends browsers back to. Its path has to be one of the targets. The default is
	// `%REQ(x-forwarded-proto)%://%REQ(:authority)%/oauth2/callback`. Another path may follow these two, or write a URL.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	RedirectURL *string `json:"redirectURL,omitempty"`

	// DenyRedirect says which requests get 401 instead of a redirect to the provider.
	//
	// +optional
	DenyRedirect *OIDCDenyRedirect `json:"denyRedirect,omitempty"`

	// LogoutPath removes the cookies. The default is /logout.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^\s?#]*$`
	// +optional
	LogoutPath *string `json:"logoutPath,omitempty"`

	// ForwardAccessToken sends the access token to backends, as `Authorization: Bearer`. The default is false.
	//
	// +optional
	ForwardAccessToken *bool `json:"forwardAccessToken,omitempty"`

	// ForwardIDToken sends the ID token to backends.
	//
	// +optional
	ForwardIDToken *OIDCTokenForwarding `json:"forwardIDToken,omitempty"`

	// DefaultTokenTTL is how long tokens are valid where the provider does not say. Without it, such a log-in fails.
	//
	// +optional
	DefaultTokenTTL *gwv1.Duration `json:"defaultTokenTTL,omitempty"`

	// RefreshToken refreshes expired tokens. The default is true.
	//
	// +optional
	RefreshToken *bool `json:"refreshToken,omitempty"`

	// DefaultRefreshTokenTTL is how long refresh tokens are valid where they do not say. The default is a week.
	//
	// +optional
	DefaultRefreshTokenTTL *gwv1.Duration `json:"defaultRefreshTokenTTL,omitempty"`

	// CSRFTokenTTL is how long a log-in may take. The default is 10m.
	//
	// +optional
	CSRFTokenTTL *gwv1.Duration `json:"csrfTokenTTL,omitempty"`

	// DisableTokenEncryption keeps tokens in cookies in plain text. The default is false.
	//
	// +optional
	DisableTokenEncryption *bool `json:"disableTokenEncryption,omitempty"`

	// PassThroughAuthHeader lets requests with `Authorization: Bearer` pass without a log-in. They need a valid token of jwt in the same
	// policy; without jwt, or with one that is optional, it has no effect. The default is false.
	//
	// +optional
	PassThroughAuthHeader *bool `json:"passThroughAuthHeader,omitempty"`
}

// OIDCProvider is an OpenID Connect provider. Gatewright does not fetch its configuration.
//
// +kubebuilder:validation:XValidation:rule="has(self.backendRef) || has(self.backendRefs)",message="set backendRef: a Service or a ServiceImport, or an XBackend of type ExternalHostname for a host outside the cluster"
type OIDCProvider struct {
	SecurityBackend `json:",inline"`

	// Issuer is the issuer identifier of the provider.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Issuer string `json:"issuer"`

	// AuthorizationEndpoint is where browsers log in. It is in the provider's /.well-known/openid-configuration.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#]+(/[^\s#]*)?$`
	// +required
	AuthorizationEndpoint string `json:"authorizationEndpoint"`

	// TokenEndpoint is the host and the path that proxies ask the backend for.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#]+(/[^\s#]*)?$`
	// +required
	TokenEndpoint string `json:"tokenEndpoint"`

	// EndSessionEndpoint is where browsers are sent to when they log out.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#]+(/[^\s#]*)?$`
	// +optional
	EndSessionEndpoint *string `json:"endSessionEndpoint,omitempty"`
}

// OIDCDenyRedirect says which requests are not redirected.
type OIDCDenyRedirect struct {
	// Headers are those of which one has to match.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +required
	Headers []OIDCDenyRedirectHeader `json:"headers"`
}

// OIDCDenyRedirectHeader compares a header.
type OIDCDenyRedirectHeader struct {
	// Name is the name of the header.
	//
	// +required
	Name gwv1.HTTPHeaderName `json:"name"`

	StringMatch `json:",inline"`
}

// OIDCCookieNames are names of cookies.
type OIDCCookieNames struct {
	// AccessToken is the cookie with the access token.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	AccessToken *string `json:"accessToken,omitempty"`

	// IDToken is the cookie with the ID token.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	IDToken *string `json:"idToken,omitempty"`
}

// OIDCTokenForwarding is a header with a token.
type OIDCTokenForwarding struct {
	// Header is the name of the header.
	//
	// +required
	Header gwv1.HTTPHeaderName `json:"header"`
}

// SameSite is an attribute of cookies.
//
// +kubebuilder:validation:Enum=Lax;Strict;None
type SameSite string

// The values of SameSite.
const (
	SameSiteLax    SameSite = "Lax"
	SameSiteStrict SameSite = "Strict"
	SameSiteNone   SameSite = "None"
)

// OIDCCookieConfig are attributes of cookies.
type OIDCCookieConfig struct {
	// SameSite is the attribute of that name. By default the cookies have none.
	//
	// +optional
	SameSite *SameSite `json:"sameSite,omitempty"`
}
