package ir

import "time"

// JWT asks for a JSON Web Token.
type JWT struct {
	Guard Guard `json:",omitempty"`
	// Policy is the policy that asks.
	Policy Name
	// Providers are those of which one has to have signed a token.
	Providers []JWTProvider
	// Optional lets requests without a token pass, and FailOpen those with an invalid one too.
	Optional, FailOpen bool
}

// JWTProvider signs tokens.
type JWTProvider struct {
	Name   string
	Issuer string
	// Audiences are those of which a token needs one, if there are any.
	Audiences []string
	// Keys is a JSON Web Key Set, if Remote is nil.
	Keys   string
	Remote *RemoteKeys
	// Claims are those that backends see in headers.
	Claims []ClaimHeader
	// Reroute chooses the rule again by these headers.
	Reroute bool
	// Headers, Cookies and Params are where a token is looked for. Without any, it is where Envoy looks.
	Headers         []TokenHeader
	Cookies, Params []string
}

// RemoteKeys are keys that proxies fetch.
type RemoteKeys struct {
	Backend Backend
	// URI has the host and the path that are asked for.
	URI string
	// Cache is how long keys are used, and Retry how long proxies wait after a failure.
	Cache, Retry time.Duration
}

// ClaimHeader is a claim that backends see in a header.
type ClaimHeader struct{ Header, Claim string }

// TokenHeader is a header with a token behind a prefix.
type TokenHeader struct{ Name, Prefix string }

// Verifies says whether tokens are verified as a policy asks, so that claims can be believed.
func (j *JWT) Verifies(policy Name) bool {
	return j != nil && j.Guard == Enforced && j.Policy == policy
}

// Reroutes says whether a provider may change which rule a request takes.
func (j *JWT) Reroutes() bool {
	if j == nil || j.Guard != Enforced {
		return false
	}
	for i := range j.Providers {
		if j.Providers[i].Reroute {
			return true
		}
	}
	return false
}

func (j *JWT) needs(n *Needs) {
	if j == nil {
		return
	}
	for i := range j.Providers {
		if remote := j.Providers[i].Remote; remote != nil {
			n.backend(remote.Backend)
		}
	}
}
