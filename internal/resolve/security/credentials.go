package security

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Credentials are a part of each route that asks for them, so they are bounded.
const (
	maxHtpasswd = 64 << 10
	maxAPIKeys  = 1000
	maxAPIKey   = 4096
)

func (r *resolver) unresolvedSecret(format string, args ...any) {
	r.unresolved = append(r.unresolved, &refs.Problem{Reason: refs.InvalidSecret, Message: fmt.Sprintf(format, args...)})
}

// secret follows a reference. It returns nil, and says why, if it leads nowhere.
func (r *resolver) secret(field string, ref gwv1.SecretObjectReference) *corev1.Secret {
	secret, problem := refs.Secret(r.view, r.objects, r.from, ref)
	if problem != nil {
		problem.Message = field + ": " + problem.Message
		r.unresolved = append(r.unresolved, problem)
		return nil
	}
	return secret
}

func (r *resolver) basicAuth(b *v1alpha1.BasicAuth) *ir.BasicAuth {
	auth := &ir.BasicAuth{}
	auth.Guard = r.guard(b.Mode, func() {
		auth.UserHeader = r.forwarded("basicAuth.forwardUsernameHeader", b.ForwardUsernameHeader)
		if b.Users == nil {
			r.fail("basicAuth.users is missing; set it, or mode None")
			return
		}
		secret := r.secret("basicAuth.users", *b.Users)
		if secret == nil {
			return
		}
		users, err := htpasswd(secret.Data[v1alpha1.HtpasswdKey])
		if err != nil {
			r.unresolvedSecret("basicAuth.users: key %s of Secret %s: %v", v1alpha1.HtpasswdKey, store.KeyOf(secret), err)
			return
		}
		auth.Users = users
	})
	return auth
}

// htpasswd checks users and passwords as Envoy does. What it says has no part of them.
func htpasswd(text []byte) (ir.Sensitive, error) {
	if len(text) > maxHtpasswd {
		return "", fmt.Errorf("it has %d bytes, and %d are allowed", len(text), maxHtpasswd)
	}
	var lines []string
	names := map[string]bool{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		entry := strings.TrimRight(string(line), "\r\n")
		if entry == "" || strings.HasPrefix(entry, "#") {
			continue
		}
		name, hash, _ := strings.Cut(entry, ":")
		digest, isSHA := strings.CutPrefix(hash, "{SHA}")
		raw, err := base64.StdEncoding.DecodeString(digest)
		switch {
		case !isSHA:
			return "", fmt.Errorf("line %d is not `user:{SHA}hash`; make it with htpasswd -s", number)
		case err != nil || len(raw) != 20:
			return "", fmt.Errorf("line %d has no SHA-1 hash; make it with htpasswd -s", number)
		case name == "" || !utf8.ValidString(name) || names[name]:
			return "", fmt.Errorf("line %d has no name of a user, or one that is there already", number)
		}
		names[name] = true
		lines = append(lines, entry)
	}
	if len(lines) == 0 {
		return "", errors.New("it has no users; add lines of `user:{SHA}hash`")
	}
	return ir.Sensitive(strings.Join(lines, "\n")), nil
}

func (r *resolver) apiKeyAuth(a *v1alpha1.APIKeyAuth) *ir.APIKeyAuth {
	auth := &ir.APIKeyAuth{}
	auth.Guard = r.guard(a.Mode, func() {
		auth.ClientHeader = r.forwarded("apiKeyAuth.forwardClientIDHeader", a.ForwardClientIDHeader)
		auth.Sanitize = a.Sanitize != nil && *a.Sanitize
		auth.Sources = r.apiKeySources(a.ExtractFrom)
		if len(auth.Sources) == 0 || len(a.CredentialRefs) == 0 {
			r.fail("apiKeyAuth needs credentialRefs and extractFrom; set them, or mode None")
		}
		auth.Keys = r.apiKeys(a.CredentialRefs)
	})
	return auth
}

func (r *resolver) apiKeySources(places []v1alpha1.ExtractFrom) []ir.APIKeySource {
	var sources []ir.APIKeySource
	for _, place := range places {
		for _, name := range place.Headers {
			sources = append(sources, ir.APIKeySource{Header: strings.ToLower(r.token("apiKeyAuth.extractFrom: header", name))})
		}
		for _, name := range place.Params {
			sources = append(sources, ir.APIKeySource{Query: name})
		}
		for _, name := range place.Cookies {
			sources = append(sources, ir.APIKeySource{Cookie: r.token("apiKeyAuth.extractFrom: cookie", name)})
		}
	}
	return sources
}

// apiKeys reads the keys of clients. The first Secret that has a client counts.
func (r *resolver) apiKeys(list []gwv1.SecretObjectReference) []ir.APIKey {
	clients, owners := map[string]bool{}, map[string]string{}
	var keys []ir.APIKey
	for _, ref := range list {
		secret := r.secret("apiKeyAuth.credentialRefs", ref)
		if secret == nil {
			continue
		}
		name := store.KeyOf(secret)
		if _, labelled := secret.Labels[v1alpha1.PolicyDataLabel]; !labelled {
			r.unresolvedSecret("apiKeyAuth.credentialRefs: Gatewright does not read Secret %s, which has no label %s; add it",
				name, v1alpha1.PolicyDataLabel)
			continue
		}
		for _, client := range slices.Sorted(maps.Keys(secret.Data)) {
			key := strings.TrimSpace(string(secret.Data[client]))
			switch {
			case clients[client]:
				continue
			case key == "" || len(key) > maxAPIKey || !utf8.ValidString(key):
				r.unresolvedSecret("apiKeyAuth.credentialRefs: client %s of Secret %s has no usable API key; write one of 1 to %d characters",
					client, name, maxAPIKey)
			case owners[key] != "":
				first, second := min(owners[key], client), max(owners[key], client)
				r.unresolvedSecret("apiKeyAuth.credentialRefs: clients %s and %s have the same API key; give each its own", first, second)
			}
			clients[client], owners[key] = true, client
			keys = append(keys, ir.APIKey{Client: client, Key: ir.Sensitive(key)})
		}
	}
	if len(keys) == 0 && len(list) > 0 {
		r.unresolvedSecret("apiKeyAuth.credentialRefs: there is no API key; add one")
	}
	if len(keys) > maxAPIKeys {
		r.unresolvedSecret("apiKeyAuth.credentialRefs: there are %d API keys, and %d are allowed", len(keys), maxAPIKeys)
	}
	slices.SortFunc(keys, func(a, b ir.APIKey) int { return strings.Compare(a.Client, b.Client) })
	return keys
}
