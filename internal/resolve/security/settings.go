package security

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

// Spec has the settings of a policy, as far as they can be resolved. Nil is a setting that the policy does not have.
type Spec struct {
	CORS           *ir.CORS
	Authentication *ir.Authentication
	CSRF           *ir.CSRF
	ExtAuth        *ir.ExternalAuth
	JWT            *ir.JWT
	OIDC           *ir.OIDC
	BasicAuth      *ir.BasicAuth
	APIKeyAuth     *ir.APIKeyAuth
	Authorization  []ir.Authorization
}

// Policy is a SecurityPolicy, whether or not it is the one that decides.
type Policy = attach.Policy[Spec]

var kind = attach.Kind[Spec]{
	Name: string(store.SecurityPolicy),
	Targets: []attach.TargetKind{
		attach.GatewayClasses, attach.Gateways, attach.ListenerSets, attach.HTTPRoutes, attach.GRPCRoutes,
	},
	Settings: []attach.Setting[Spec]{
		attach.Pointer("cors", func(s *Spec) **ir.CORS { return &s.CORS }),
		attach.Pointer("csrf", func(s *Spec) **ir.CSRF { return &s.CSRF }),
		attach.Pointer("extAuth", func(s *Spec) **ir.ExternalAuth { return &s.ExtAuth }),
		attach.Pointer("jwt", func(s *Spec) **ir.JWT { return &s.JWT }),
		attach.Pointer("oidc", func(s *Spec) **ir.OIDC { return &s.OIDC }),
		attach.Pointer("basicAuth", func(s *Spec) **ir.BasicAuth { return &s.BasicAuth }),
		attach.Pointer("apiKeyAuth", func(s *Spec) **ir.APIKeyAuth { return &s.APIKeyAuth }),
		attach.Pointer("authentication", func(s *Spec) **ir.Authentication { return &s.Authentication }),
		attach.Additive("authorization", func(s *Spec) *[]ir.Authorization { return &s.Authorization }),
	},
	ResolvedRefs: true,
	Inherited:    true,
}

// Kind is how SecurityPolicies are inherited.
var Kind = inherit.Kind[Spec]{Kind: kind, Resolve: resolve, Convert: convert, Broken: broken, Unserved: unserved}

func convert(_ *store.View, _ *store.Objects, e *attach.Effective[Spec]) inherit.Values {
	return inherit.Values{Request: request(&e.Spec)}
}

// request is what merged settings mean for requests.
func request(s *Spec) ir.RequestPolicy {
	return ir.RequestPolicy{
		CORS: s.CORS, CSRF: s.CSRF, Auth: s.ExtAuth, JWT: s.JWT, OIDC: s.OIDC, BasicAuth: s.BasicAuth, APIKeyAuth: s.APIKeyAuth,
		Authentication: s.Authentication, Authorization: s.Authorization,
	}
}
