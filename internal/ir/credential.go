package ir

import "strings"

// Credential is a value of a Secret that proxies need as it is, or a key that is derived of it.
type Credential struct {
	Name  string
	Value Sensitive
}

// CredentialUse is what a credential is for. It ends the name of the secret that proxies get.
type CredentialUse string

// The uses of credentials. Those of an OIDC client are two: the client secret, and the key that signs cookies.
const (
	ClientSecret CredentialUse = "client-secret"
	CookieKey    CredentialUse = "cookie-key"
	// Injected is a header that a backend gets.
	Injected CredentialUse = "injected"
)

const credentialPrefix = "credential/" //nolint:gosec // a part of a name

// NameFor is the name of a credential of a Secret, `namespace/name`.
func (u CredentialUse) NameFor(secret string) string {
	return credentialPrefix + secret + "/" + string(u)
}

// ParseCredential is the Secret of a name, `namespace/name`, and what its credential is for. It is false for any other name.
func ParseCredential(name string) (secret string, use CredentialUse, ok bool) {
	rest, ok := strings.CutPrefix(name, credentialPrefix)
	end := strings.LastIndexByte(rest, '/')
	if !ok || end < 0 {
		return "", "", false
	}
	switch use = CredentialUse(rest[end+1:]); use {
	case ClientSecret, CookieKey, Injected:
		return rest[:end], use, true
	default:
		return "", "", false
	}
}

// InjectedCredential is a header with a credential that a backend gets.
type InjectedCredential struct {
	// Secret has the value, `namespace/name`, see [Credential].
	Secret string
	Header string
	// Overwrite replaces a header that the client sends.
	Overwrite bool
}

func (c *InjectedCredential) needs(n *Needs) {
	if c != nil {
		n.credential(Injected.NameFor(c.Secret))
	}
}
