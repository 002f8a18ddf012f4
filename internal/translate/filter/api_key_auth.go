package filter

import (
	apikeyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// APIKeyAuth asks for the API key that a route asks for.
const APIKeyAuth = "gatewright.api_key_auth"

var apiKeyAuth = allRequired(APIKeyAuth, apiKeyRun)

func apiKeyRun(policy *ir.RequestPolicy) []run {
	auth := policy.APIKeyAuth
	if auth == nil || auth.Guard == ir.Off {
		return nil
	}
	config := &apikeyv3.ApiKeyAuth{Forwarding: &apikeyv3.Forwarding{Header: auth.ClientHeader, HideCredentials: auth.Sanitize}}
	for _, k := range auth.Keys {
		config.Credentials = append(config.Credentials, &apikeyv3.Credential{Client: k.Client, Key: string(k.Key)})
	}
	for _, s := range auth.Sources {
		config.KeySources = append(config.KeySources, &apikeyv3.KeySource{Header: s.Header, Query: s.Query, Cookie: s.Cookie})
	}
	return []run{{"envoy.filters.http.api_key_auth", config}}
}
