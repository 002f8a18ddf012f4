package security

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

func (r *resolver) jwt(j *v1alpha1.JWT) *ir.JWT {
	auth := &ir.JWT{Policy: r.policy}
	auth.Guard = r.guard(j.Mode, func() {
		auth.Optional, auth.FailOpen = j.Optional != nil && *j.Optional, j.FailOpen != nil && *j.FailOpen
		for i := range j.Providers {
			provider := r.provider(fmt.Sprintf("jwt.providers[%d]", i), &j.Providers[i])
			if slices.ContainsFunc(auth.Providers, func(known ir.JWTProvider) bool { return known.Name == provider.Name }) {
				r.fail("jwt.providers[%d]: there are two of the name %q; rename one", i, provider.Name)
			}
			auth.Providers = append(auth.Providers, provider)
		}
		if len(auth.Providers) == 0 {
			r.fail("jwt.providers is missing; set it, or mode None")
		}
	})
	return auth
}

func (r *resolver) provider(field string, p *v1alpha1.JWTProvider) ir.JWTProvider {
	provider := ir.JWTProvider{
		Name: p.Name, Issuer: p.Issuer, Audiences: p.Audiences, Reroute: p.RecomputeRoute != nil && *p.RecomputeRoute,
	}
	for _, c := range p.ClaimToHeaders {
		name := r.forwarded(field+".claimToHeaders", &c.Header)
		provider.Claims = append(provider.Claims, ir.ClaimHeader{Header: name, Claim: c.Claim})
	}
	if e := p.ExtractFrom; e != nil {
		for _, h := range e.Headers {
			token := ir.TokenHeader{Name: strings.ToLower(r.token(field+".extractFrom: header", string(h.Name)))}
			if h.ValuePrefix != nil {
				token.Prefix = *h.ValuePrefix
			}
			if message := header.CheckValue(field+".extractFrom: valuePrefix", token.Prefix); message != "" {
				r.fail("%s", message)
			}
			provider.Headers = append(provider.Headers, token)
		}
		for _, name := range e.Cookies {
			provider.Cookies = append(provider.Cookies, r.token(field+".extractFrom: cookie", name))
		}
		provider.Params = e.Params
	}
	switch {
	case p.LocalJWKS != nil:
		provider.Keys = r.localKeys(field+".localJWKS", p.LocalJWKS)
	case p.RemoteJWKS != nil:
		provider.Remote = r.remoteKeys(field+".remoteJWKS", p.RemoteJWKS)
	default:
		r.fail("%s has no keys; set remoteJWKS or localJWKS", field)
	}
	return provider
}

// localKeys reads keys that are in the policy or in a ConfigMap.
func (r *resolver) localKeys(field string, local *v1alpha1.LocalJWKS) string {
	switch {
	case local.Inline != nil:
		keys, err := keySet(*local.Inline)
		if err != nil {
			r.fail("%s.inline: %v", field, err)
		}
		return keys
	case local.ValueRef != nil:
		if local.ValueRef.Kind != "ConfigMap" || local.ValueRef.Group != "" {
			r.fail("%s.valueRef refers to a %s; refer to a ConfigMap", field, local.ValueRef.Kind)
			return ""
		}
		key := store.Key(r.policy.Namespace, string(local.ValueRef.Name))
		object, ok := r.objects.ConfigMaps.Get(r.view, key)
		if !ok {
			r.unresolvedSecret("%s.valueRef: there is no ConfigMap %s; create it, or correct the name", field, key)
			return ""
		}
		keys, err := keySet(object.Data[v1alpha1.JWKSKey])
		if err != nil {
			r.unresolvedSecret("%s.valueRef: key %s of ConfigMap %s: %v", field, v1alpha1.JWKSKey, key, err)
		}
		return keys
	default:
		r.fail("%s has no keys; set inline or valueRef", field)
		return ""
	}
}

// The times of keys that proxies fetch.
const (
	defaultCache = 5 * time.Minute
	defaultRetry = time.Second
	leastCache   = time.Second
	leastRetry   = 100 * time.Millisecond
)

func (r *resolver) remoteKeys(field string, remote *v1alpha1.RemoteJWKS) *ir.RemoteKeys {
	keys := &ir.RemoteKeys{
		URI:   remote.URI,
		Cache: r.duration(field+".cacheDuration", remote.CacheDuration, defaultCache, leastCache),
		Retry: r.duration(field+".failedRefetchDuration", remote.FailedRefetchDuration, defaultRetry, leastRetry),
	}
	parsed, err := url.Parse(remote.URI)
	if err != nil || parsed.Host == "" || parsed.User != nil || header.CheckValue("", remote.URI) != "" {
		r.fail("%s.uri %q is not a URI of a server; write it like https://issuer.example/jwks", field, remote.URI)
		return keys
	}
	keys.Backend = r.server(field, &remote.SecurityBackend, parsed, ir.BackendHTTP1)
	return keys
}

// server is a backend that proxies ask: the one that is referred to.
func (r *resolver) server(field string, b *v1alpha1.SecurityBackend, _ *url.URL, fallback ir.BackendProtocol) ir.Backend {
	ref := b.BackendRef
	if len(b.BackendRefs) > 0 {
		ref = &b.BackendRefs[0]
	}
	if ref == nil {
		r.fail("%s has no backendRef; set it", field)
		return ir.Backend{}
	}
	found, problem := backend.Resolve(r.view, r.objects, r.from, *ref, fallback)
	if problem != nil {
		r.unresolved = append(r.unresolved, &refs.Problem{Reason: problem.Reason, Message: field + ": " + problem.Message})
	}
	return found
}
