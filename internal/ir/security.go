package ir

import (
	"errors"
	"fmt"
	"slices"
)

// Guard says what becomes of a setting of security. The zero value enforces it.
type Guard uint8

// What becomes of a setting.
const (
	Enforced Guard = iota
	// Off is a setting that a policy turns off on purpose.
	Off
	// Broken is a setting that cannot be resolved. Then no request may pass.
	Broken
)

// String is the name people see.
func (g Guard) String() string { return [...]string{"Enforced", "Off", "Broken"}[g] }

// MarshalText makes dumps readable.
func (g Guard) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (g *Guard) UnmarshalText(text []byte) error {
	for _, known := range []Guard{Enforced, Off, Broken} {
		if known.String() == string(text) {
			*g = known
			return nil
		}
	}
	return fmt.Errorf("%q says nothing about a setting", text)
}

// Sensitive is a secret that has to be part of a resource. It is in no dump and no log. Only [EncodeForReplicas] reveals it.
type Sensitive string

const redacted = "(redacted)"

// String hides the secret.
func (Sensitive) String() string { return redacted }

// GoString hides the secret.
func (Sensitive) GoString() string { return redacted }

// MarshalText hides the secret.
func (Sensitive) MarshalText() ([]byte, error) { return []byte(redacted), nil }

var errRedacted = errors.New("a dump has no secrets")

// UnmarshalText fails: what MarshalText writes must never count as the secret.
func (*Sensitive) UnmarshalText([]byte) error { return errRedacted }

// CSRF answers 403 to requests that change something and come from another origin.
type CSRF struct {
	Guard Guard `json:",omitempty"`
	// Origins are compared with the host and the port of the Origin header.
	Origins []StringMatch
	// Shadow is the part of requests that are only counted.
	Shadow Fraction
}

// BasicAuth asks for a user name and a password.
type BasicAuth struct {
	Guard Guard `json:",omitempty"`
	// Users is in the format of htpasswd, with SHA-1 hashes.
	Users Sensitive
	// UserHeader is the header in which backends see the name of the user, empty for none.
	UserHeader string
}

// APIKeyAuth asks for an API key.
type APIKeyAuth struct {
	Guard Guard `json:",omitempty"`
	// Keys are sorted by client. No key is there twice.
	Keys []APIKey
	// Sources are where a key is looked for, in this order.
	Sources []APIKeySource
	// ClientHeader is the header in which backends see the ID of the client, empty for none.
	ClientHeader string
	// Sanitize removes the key from the request.
	Sanitize bool
}

// APIKey is the key of a client.
type APIKey struct {
	Client string
	Key    Sensitive
}

// APIKeySource is one place of a request. Exactly one field is set.
type APIKeySource struct{ Header, Query, Cookie string }

// Authentication says how several kinds of authentication count together.
type Authentication struct {
	// Any is content with one of them.
	Any bool
}

// AnyAuthentication says whether one of several kinds of authentication is enough. Where a policy overrides one of them, that is so only
// if the same policy decides about all of them. Otherwise a more specific policy could add credentials of its own, and be content with
// these.
func (p *RequestPolicy) AnyAuthentication() bool {
	if p.Authentication == nil || !p.Authentication.Any {
		return false
	}
	var first *Origin
	overrides, same := false, true
	for i := range p.Origins {
		o := &p.Origins[i]
		if o.Setting != authentication && !p.asksFor(o.Setting) {
			continue
		}
		if first == nil {
			first = o
		}
		same = same && o.Object == first.Object
		overrides = overrides || o.Overrides && o.Setting != authentication
	}
	return same || !overrides
}

// authentication is the name of the setting that combines the others.
const authentication = "authentication"

// asksFor says whether a setting of that name asks for credentials.
func (p *RequestPolicy) asksFor(setting string) bool {
	switch setting {
	case "jwt":
		return p.JWT != nil && p.JWT.Guard != Off
	case "oidc":
		return p.OIDC != nil && p.OIDC.Guard != Off
	case "basicAuth":
		return p.BasicAuth != nil && p.BasicAuth.Guard != Off
	case "apiKeyAuth":
		return p.APIKeyAuth != nil && p.APIKeyAuth.Guard != Off
	default:
		return false
	}
}

// Authorization says which requests one policy allows.
type Authorization struct {
	Guard Guard `json:",omitempty"`
	// Policy is the policy.
	Policy Name
	// Rules are in their order: the first that matches decides.
	Rules []AuthorizationRule
	// Allow decides about all other requests.
	Allow bool
	// Claims says that a rule looks at claims, which the JWT of the same policy has to have verified.
	Claims bool
}

// AuthorizationRule decides about requests that all its parts match. An empty part matches every request.
type AuthorizationRule struct {
	Name  string
	Allow bool
	// CIDRs and Methods are those of which one has to match.
	CIDRs   []string
	Methods []string
	// Path is nil for any.
	Path *PathRule
	// Headers and Claims all have to match.
	Headers []HeaderValues
	Claims  []ClaimValues
	// Locations are those of which one has to match.
	Locations []GeoLocation
	// CEL is nil for no condition.
	CEL *CEL
}

// CEL is an expression of the Common Expression Language that is true or false for a request.
type CEL struct {
	Text string
	// Expr is the expression as Envoy reads it (cel.expr.Expr).
	Expr []byte `json:"-"`
}

// PathRule compares the path without the query.
type PathRule struct {
	StringMatch
	Invert bool
}

// HeaderValues compares a header, by its name in lower case.
type HeaderValues struct {
	Name   string
	Values []string
}

// ClaimValues compares a claim of a verified token.
type ClaimValues struct {
	// Provider is the provider of the policy, and Paths the ways to the claim, any of which may lead there.
	Provider string
	Paths    [][]string
	// Values are those of which one has to match. List says that the claim is a list, of which one element has to.
	Values []string
	List   bool
}

// FailsClosed says whether a setting of security, or a global limit, cannot be resolved, so that no request may pass.
func (p *RequestPolicy) FailsClosed() bool {
	if p.FailClosed || p.RateLimit != nil && p.RateLimit.Guard == Broken || p.GlobalRateLimit != nil && p.GlobalRateLimit.Guard == Broken ||
		slices.ContainsFunc(p.Authorization, func(a Authorization) bool { return a.Guard == Broken }) {
		return true
	}
	return p.CORS != nil && p.CORS.Guard == Broken || p.Auth != nil && p.Auth.Guard == Broken || p.CSRF != nil && p.CSRF.Guard == Broken ||
		p.unauthenticated()
}

// unauthenticated says whether a setting that asks for credentials cannot be resolved.
func (p *RequestPolicy) unauthenticated() bool {
	return p.JWT != nil && p.JWT.Guard == Broken || p.OIDC != nil && p.OIDC.Guard == Broken ||
		p.BasicAuth != nil && p.BasicAuth.Guard == Broken || p.APIKeyAuth != nil && p.APIKeyAuth.Guard == Broken
}

// Protection are the settings that may keep a request from its backend, without all others; nil for none: those of security, whether a
// policy or a filter of the route has them, and that there are limits of rates, whatever they are.
func (p *RequestPolicy) Protection() *RequestPolicy {
	if p == nil {
		return nil
	}
	own := &RequestPolicy{
		CSRF: p.CSRF, JWT: p.JWT, OIDC: p.OIDC, BasicAuth: p.BasicAuth, APIKeyAuth: p.APIKeyAuth,
		Authorization: asWritten(p.Authorization), FailClosed: p.FailClosed, Auth: p.Auth,
	}
	if p.RateLimit != nil {
		own.RateLimit = &LocalRateLimit{Guard: p.RateLimit.Guard}
	}
	if p.GlobalRateLimit != nil {
		own.GlobalRateLimit = &GlobalRateLimit{Guard: p.GlobalRateLimit.Guard}
	}
	if p.Authentication != nil {
		own.Authentication = &Authentication{Any: p.AnyAuthentication()}
	}
	if own.IsZero() {
		return nil
	}
	return own
}

// asWritten are the rules with the texts of CEL conditions alone. What these are read as may differ between releases, whose replicas
// compare their rules.
func asWritten(list []Authorization) []Authorization {
	hasCEL := func(r AuthorizationRule) bool { return r.CEL != nil }
	if !slices.ContainsFunc(list, func(a Authorization) bool { return slices.ContainsFunc(a.Rules, hasCEL) }) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Rules = slices.Clone(list[i].Rules)
		for j := range list[i].Rules {
			if rule := &list[i].Rules[j]; rule.CEL != nil {
				rule.CEL = &CEL{Text: rule.CEL.Text}
			}
		}
	}
	return list
}

// HasSecrets says whether routes with the settings have secrets in them, or need some beside listeners and clusters.
func (p *RequestPolicy) HasSecrets() bool {
	return p != nil && (p.BasicAuth != nil && p.BasicAuth.Guard == Enforced || p.APIKeyAuth != nil && p.APIKeyAuth.Guard == Enforced ||
		p.OIDC != nil && p.OIDC.Guard == Enforced ||
		p.AsksWithContext() && slices.ContainsFunc(p.Auth.Context, func(c ContextValue) bool { return c.Secret }))
}

// WithoutSecrets is the host where rules that have secrets in them answer an error instead: routes are not secret everywhere.
func (h VirtualHost) WithoutSecrets() VirtualHost { return h.closed((*RequestPolicy).HasSecrets) }

// closed is the host where rules with such settings answer an error.
func (h VirtualHost) closed(where func(*RequestPolicy) bool) VirtualHost {
	closed := func(p *RequestPolicy) *RequestPolicy {
		if !where(p) {
			return p
		}
		return &RequestPolicy{FailClosed: true, Origins: p.Origins}
	}
	h.Policy = closed(h.Policy)
	if slices.ContainsFunc(h.Rules, func(r Rule) bool { return where(r.Policy) }) {
		h.Rules = slices.Clone(h.Rules)
		for i := range h.Rules {
			h.Rules[i].Policy = closed(h.Rules[i].Policy)
		}
	}
	return h
}
