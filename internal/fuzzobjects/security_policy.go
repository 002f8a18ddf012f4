package fuzzobjects

import (
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// keySet has a public key that proxies can use.
const keySet = `{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` +
	`"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`

// routeTarget is what a SecurityPolicy can target, or a section of it.
func (w Generator) routeTarget(gateway, route gwv1.ObjectName) gwv1.LocalPolicyTargetReferenceWithSectionName {
	ref := gwv1.LocalPolicyTargetReferenceWithSectionName{
		SectionName: pick(w, nil, nil, nil, new(gwv1.SectionName("http")), new(gwv1.SectionName("l0"))),
	}
	ref.Group, ref.Kind, ref.Name = gwv1.GroupName, pick[gwv1.Kind](w, "HTTPRoute", "HTTPRoute", "GRPCRoute", "TCPRoute"), route
	if w.IntN(3) == 0 {
		ref.Kind, ref.Name = pick[gwv1.Kind](w, "Gateway", "Gateway", "ListenerSet", "GatewayClass"), gateway
	}
	return ref
}

func (w Generator) securityPolicy() metav1.Object {
	p := &v1alpha1.SecurityPolicy{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "y1", "y2", "y3"))}
	for range 1 + w.IntN(2) {
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, w.routeTarget(pick[gwv1.ObjectName](w, "one", "two"), pick[gwv1.ObjectName](w, "r1", "r2")))
	}
	p.Spec.Strategy = pick(w, nil, new(v1alpha1.PolicyDefaults), new(v1alpha1.PolicyOverrides))
	none := new(v1alpha1.SecurityNone)
	p.Spec.CORS = pick(w, nil, nil, &v1alpha1.CORS{Mode: none}, &v1alpha1.CORS{AllowOrigins: []v1alpha1.CORSOrigin{"https://a.example"}})
	p.Spec.BasicAuth = pick(w, nil, nil, &v1alpha1.BasicAuth{Mode: none}, &v1alpha1.BasicAuth{Users: &gwv1.SecretObjectReference{
		Name: pick[gwv1.ObjectName](w, "users", "cert"), Namespace: pick(w, nil, new(gwv1.Namespace("web"))),
	}})
	p.Spec.APIKeyAuth = pick(w, nil, nil, &v1alpha1.APIKeyAuth{
		CredentialRefs: []gwv1.SecretObjectReference{{Name: pick[gwv1.ObjectName](w, "users", "missing")}},
		ExtractFrom:    []v1alpha1.ExtractFrom{{Headers: []string{"x-key"}}},
	})
	server := v1alpha1.SecurityBackend{BackendRef: &gwv1.BackendObjectReference{
		Name: pick[gwv1.ObjectName](w, "s1", "s2"), Port: new(pick[gwv1.PortNumber](w, 80, 81)),
		Namespace: pick(w, nil, nil, new(gwv1.Namespace("app"))),
	}}
	p.Spec.ExtAuth = pick(w, nil, nil, nil, &v1alpha1.ExtAuth{
		GRPC: &v1alpha1.GRPCExtAuth{SecurityBackend: server}, ContextExtensions: w.contextExtensions(),
	})
	p.Spec.JWT = pick(w, nil, nil, &v1alpha1.JWT{Mode: none}, &v1alpha1.JWT{Providers: []v1alpha1.JWTProvider{{
		Name: "p", RemoteJWKS: &v1alpha1.RemoteJWKS{SecurityBackend: server, URI: "http://keys.example/jwks"},
	}}}, &v1alpha1.JWT{Providers: []v1alpha1.JWTProvider{{
		Name: "p", LocalJWKS: &v1alpha1.LocalJWKS{Type: new(v1alpha1.LocalJWKSValueRef), ValueRef: &gwv1.LocalObjectReference{
			Kind: "ConfigMap", Name: pick[gwv1.ObjectName](w, "ca", "other"),
		}},
	}}})
	p.Spec.OIDC = pick(w, nil, nil, nil, &v1alpha1.OIDC{
		Provider: &v1alpha1.OIDCProvider{ //nolint:gosec // no credentials are in it
			SecurityBackend: server, Issuer: "i", AuthorizationEndpoint: "https://i.example/a", TokenEndpoint: "http://i.example/t",
		},
		ClientID: new("c"), ClientSecret: &gwv1.SecretObjectReference{Name: "users"},
	})
	p.Spec.Authorization = pick(w, nil, nil, &v1alpha1.Authorization{Rules: []v1alpha1.AuthorizationRule{{
		Action: pick(w, v1alpha1.AuthorizationAllow, v1alpha1.AuthorizationDeny),
		Principal: pick(w, &v1alpha1.AuthorizationPrincipal{ClientCIDRs: []v1alpha1.CIDR{"10.0.0.0/8"}},
			&v1alpha1.AuthorizationPrincipal{JWT: &v1alpha1.JWTPrincipal{Provider: "p", Scopes: []string{"a"}}},
			&v1alpha1.AuthorizationPrincipal{ClientIPGeoLocations: []v1alpha1.ClientIPGeoLocation{
				{Country: pick(w, nil, new("DE")), City: pick(w, nil, new("Munich"))},
			}}),
	}}})
	p.Spec.Authentication = pick(w, nil, nil, &v1alpha1.Authentication{Require: new(v1alpha1.AuthenticationAny)})
	return p
}

func (w Generator) contextExtensions() []v1alpha1.ContextExtension {
	ref := &v1alpha1.LocalObjectKeyReference{Key: pick(w, v1alpha1.OIDCClientIDKey, v1alpha1.JWKSKey, "missing")}
	ref.Kind, ref.Name = pick[gwv1.Kind](w, "Secret", "ConfigMap"), pick[gwv1.ObjectName](w, "users", "ca", "other")
	return pick(w, nil, []v1alpha1.ContextExtension{{Name: "tier", Value: new("gold")}}, []v1alpha1.ContextExtension{
		{Name: "tier", Value: new(pick(w, "gold", "ü\x00"))}, {Name: "a", Type: new(v1alpha1.ContextExtensionValueRef), ValueRef: ref},
	})
}

// credentials adds what SecurityPolicies read to a Secret.
func (w Generator) credentials(s *corev1.Secret) {
	s.Type, s.Labels = corev1.SecretTypeOpaque, pick(w, nil, map[string]string{v1alpha1.PolicyDataLabel: ""})
	hash := base64.StdEncoding.EncodeToString(make([]byte, 20))
	s.Data = map[string][]byte{
		v1alpha1.HtpasswdKey:         []byte(pick(w, "ali:{SHA}"+hash, "ali:{SHA}"+hash+"\n# x\r\neve:{SHA}"+hash, "nonsense", "")),
		v1alpha1.OIDCClientSecretKey: []byte(pick(w, "secret", "")), v1alpha1.OIDCClientIDKey: []byte("id"),
		v1alpha1.InjectedCredentialKey: []byte(pick(w, "Bearer t", "Bearer t\n", "a\nb", "")),
	}
}

func (w HostileGenerator) securityPolicy() metav1.Object {
	p := &v1alpha1.SecurityPolicy{ObjectMeta: w.meta(HostileGateway.Namespace, pick(w.Generator, "y1", "y2", "y3", "y4"))}
	for range 1 + w.few(3) {
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, w.routeTarget(
			gwv1.ObjectName(HostileGateway.Name), pick[gwv1.ObjectName](w.Generator, "r1", "r2", "r3")))
	}
	p.Spec.Strategy = pick(w.Generator, nil, new(v1alpha1.PolicyOverrides))
	if w.IntN(4) == 0 {
		// Another setting may be broken, and then a proxy gets none.
		p.Spec.Authorization = w.locationPolicy()
		return p
	}
	p.Spec.CORS, p.Spec.CSRF = w.corsPolicy(), w.csrfPolicy()
	p.Spec.ExtAuth, p.Spec.JWT, p.Spec.OIDC = w.extAuthPolicy(), w.jwtPolicy(), w.oidcPolicy()
	if w.IntN(3) == 0 {
		p.Spec.BasicAuth = &v1alpha1.BasicAuth{Users: w.usersRef(), ForwardUsernameHeader: w.headerName()}
	}
	if w.IntN(3) == 0 {
		p.Spec.APIKeyAuth = &v1alpha1.APIKeyAuth{
			CredentialRefs: []gwv1.SecretObjectReference{*w.usersRef()}, ForwardClientIDHeader: w.headerName(), Sanitize: new(w.coin()),
			ExtractFrom: []v1alpha1.ExtractFrom{
				{Headers: w.texts(hostileHeaderNames)}, {Params: w.texts(hostileHeaderValues)}, {Cookies: w.texts(hostileHeaderNames)},
			},
		}
	}
	p.Spec.Authorization = w.authorizationPolicy()
	p.Spec.Authentication = pick(w.Generator, nil, &v1alpha1.Authentication{Require: new(v1alpha1.AuthenticationAny)})
	return p
}

func (w HostileGenerator) texts(list []string) []string {
	var texts []string
	for range 1 + w.few(4) {
		texts = append(texts, w.text(list))
	}
	return texts
}

func (w HostileGenerator) usersRef() *gwv1.SecretObjectReference {
	return &gwv1.SecretObjectReference{Name: pick[gwv1.ObjectName](w.Generator, "users", "cert", "missing")}
}

func (w HostileGenerator) headerName() *gwv1.HTTPHeaderName {
	return pick(w.Generator, nil, new(gwv1.HTTPHeaderName(w.text(hostileHeaderNames))))
}

func (w HostileGenerator) corsPolicy() *v1alpha1.CORS {
	origins := pick(w.Generator, nil, []v1alpha1.CORSOrigin{"*", "https://*.example.com:8443", "x+y://a"}, []v1alpha1.CORSOrigin{"http://*"})
	return pick(w.Generator, nil, &v1alpha1.CORS{
		AllowOrigins: origins, AllowMethods: w.texts(hostileHeaderNames), AllowHeaders: w.texts(hostileHeaderNames),
		ExposeHeaders: w.texts(hostileHeaderNames), MaxAge: w.timeSpan(), AllowCredentials: new(w.coin()),
	}, &v1alpha1.CORS{AllowOrigins: origins})
}

func (w HostileGenerator) csrfPolicy() *v1alpha1.CSRF {
	return pick(w.Generator, nil, nil, &v1alpha1.CSRF{
		AdditionalOrigins: []v1alpha1.CORSOrigin{"https://*.example.com", "*"},
		ShadowFraction:    pick(w.Generator, nil, &gwv1.Fraction{Numerator: w.Int32N(120), Denominator: new(1 + w.Int32N(1000))}),
	})
}

func (w HostileGenerator) server() v1alpha1.SecurityBackend {
	ref := gwv1.BackendObjectReference{Name: pick[gwv1.ObjectName](w.Generator, "s1", "s2", "s3"), Port: new(w.port())}
	return pick(w.Generator, v1alpha1.SecurityBackend{BackendRef: &ref},
		v1alpha1.SecurityBackend{BackendRefs: []gwv1.BackendObjectReference{ref}})
}

func (w HostileGenerator) extAuthPolicy() *v1alpha1.ExtAuth {
	e := &v1alpha1.ExtAuth{
		HeadersToExtAuth: pick(w.Generator, nil, w.texts(hostileHeaderNames)), Timeout: w.timeSpan(), FailOpen: new(w.coin()),
		RecomputeRoute: new(w.coin()), StatusOnError: pick(w.Generator, nil, new(400+w.Int32N(200))),
		BodyToExtAuth: pick(w.Generator, nil, &v1alpha1.BodyToExtAuth{MaxRequestBytes: 1 + w.Int64N(1<<24)}),
	}
	if w.coin() {
		e.GRPC, e.IncludeRouteMetadata = &v1alpha1.GRPCExtAuth{SecurityBackend: w.server()}, new(w.coin())
		if e.ContextExtensions = w.contextExtensions(); len(e.ContextExtensions) > 0 {
			e.ContextExtensions[0].Name, e.ContextExtensions[0].Value = w.text(hostileHeaderValues), new(w.text(hostileHeaderValues))
		}
	} else {
		e.HTTP = &v1alpha1.HTTPExtAuth{
			SecurityBackend: w.server(), HeadersToBackend: pick(w.Generator, nil, w.texts(hostileHeaderNames)),
			Path: pick(w.Generator, nil, new(w.text(hostilePaths))),
		}
		if e.HTTP.Path == nil {
			e.HTTP.PathOverride = pick(w.Generator, nil, new(w.text(hostilePaths)))
		}
	}
	return pick(w.Generator, nil, nil, e)
}

func (w HostileGenerator) uri() string {
	return pick(w.Generator, "http", "https") + "://" + w.text(hostileHostnames) + pick(w.Generator, "", ":8443") + w.text(hostilePaths)
}

func (w HostileGenerator) jwtPolicy() *v1alpha1.JWT {
	j := &v1alpha1.JWT{Optional: pick(w.Generator, nil, new(true))}
	if j.Optional == nil {
		j.FailOpen = pick(w.Generator, nil, new(true))
	}
	for i := range 1 + w.few(3) {
		provider := v1alpha1.JWTProvider{
			Name: fmt.Sprintf("%s%d", pick(w.Generator, "p", "ü/ ", "%"), i), Issuer: w.text(hostileHeaderValues),
			Audiences: pick(w.Generator, nil, w.texts(hostileHeaderValues)), RecomputeRoute: new(w.coin()),
			ClaimToHeaders: []v1alpha1.ClaimToHeader{{
				Header: gwv1.HTTPHeaderName(w.text(hostileHeaderNames)), Claim: pick(w.Generator, "a", "a.b", ".", "a..b", "ü"),
			}},
			ExtractFrom: pick(w.Generator, nil, &v1alpha1.JWTExtractor{
				Headers: []v1alpha1.JWTHeader{{
					Name: gwv1.HTTPHeaderName(w.text(hostileHeaderNames)), ValuePrefix: pick(w.Generator, nil, new(w.text(hostileHeaderValues))),
				}},
				Cookies: w.texts(hostileHeaderNames), Params: w.texts(hostileHeaderValues),
			}),
		}
		if w.coin() {
			provider.RemoteJWKS = &v1alpha1.RemoteJWKS{
				SecurityBackend: w.server(), URI: w.uri(), CacheDuration: w.timeSpan(), FailedRefetchDuration: w.timeSpan(),
			}
		} else {
			provider.LocalJWKS = &v1alpha1.LocalJWKS{Inline: new(pick(w.Generator, keySet, keySet, `{"keys":[]}`, "{}", "x"))}
		}
		j.Providers = append(j.Providers, provider)
	}
	return pick(w.Generator, nil, j)
}

func (w HostileGenerator) oidcPolicy() *v1alpha1.OIDC {
	return pick(w.Generator, nil, nil, &v1alpha1.OIDC{
		Provider: &v1alpha1.OIDCProvider{
			SecurityBackend: w.server(), Issuer: "i", AuthorizationEndpoint: w.uri(), TokenEndpoint: w.uri(),
			EndSessionEndpoint: pick(w.Generator, nil, new(w.uri())),
		},
		ClientID: new(w.text(hostileHeaderValues)), ClientSecret: w.usersRef(),
		CookieNames: pick(w.Generator, nil, &v1alpha1.OIDCCookieNames{AccessToken: new(w.text(hostileHeaderNames))}),
		CookieConfig: pick(w.Generator, nil, &v1alpha1.OIDCCookieConfig{
			SameSite: new(pick(w.Generator, v1alpha1.SameSiteLax, v1alpha1.SameSiteNone, v1alpha1.SameSiteStrict)),
		}),
		CookieDomain: pick(w.Generator, nil, new(w.text(hostileHostnames))), Scopes: pick(w.Generator, nil, w.texts(hostileHeaderValues)),
		Resources:   pick(w.Generator, nil, w.texts(hostileHeaderValues)),
		RedirectURL: pick(w.Generator, nil, new("%REQ(x-forwarded-proto)%://%REQ(:authority)%"+w.text(hostilePaths)), new(w.uri())),
		LogoutPath:  pick(w.Generator, nil, new(w.text(hostilePaths))), ForwardAccessToken: new(w.coin()),
		ForwardIDToken:  pick(w.Generator, nil, &v1alpha1.OIDCTokenForwarding{Header: gwv1.HTTPHeaderName(w.text(hostileHeaderNames))}),
		DefaultTokenTTL: w.timeSpan(), RefreshToken: new(w.coin()), DefaultRefreshTokenTTL: w.timeSpan(), CSRFTokenTTL: w.timeSpan(),
		DisableTokenEncryption: new(w.coin()), PassThroughAuthHeader: new(w.coin()),
	})
}

func (w HostileGenerator) authorizationPolicy() *v1alpha1.Authorization {
	a := &v1alpha1.Authorization{DefaultAction: pick(w.Generator, nil, new(v1alpha1.AuthorizationAllow))}
	for range w.few(6) {
		rule := v1alpha1.AuthorizationRule{
			Name:   pick(w.Generator, nil, new(w.text(hostileHeaderValues))),
			Action: pick(w.Generator, v1alpha1.AuthorizationAllow, v1alpha1.AuthorizationDeny),
		}
		if w.coin() {
			rule.Operation = &v1alpha1.AuthorizationOperation{
				Methods: pick(w.Generator, nil, []gwv1.HTTPMethod{"GET", "CONNECT"}),
				Path: &v1alpha1.AuthorizationPath{
					Type:  pick(w.Generator, nil, new(gwv1.PathMatchExact), new(gwv1.PathMatchRegularExpression)),
					Value: pick(w.Generator, w.text(hostilePaths), w.text(hostileExpressions)), Invert: new(w.coin()),
				},
			}
		}
		if w.coin() || rule.Operation == nil {
			rule.Principal = &v1alpha1.AuthorizationPrincipal{
				ClientCIDRs: pick(w.Generator, nil, []v1alpha1.CIDR{"10.0.0.1/8", "2001:db8::/32", "::ffff:192.0.2.0/112", "0.0.0.0/0"}),
				Headers: []v1alpha1.AuthorizationHeader{{
					Name: gwv1.HTTPHeaderName(w.text(hostileHeaderNames)), Values: w.texts(hostileHeaderValues),
				}},
				ClientIPGeoLocations: pick(w.Generator, nil, w.locations()),
			}
		}
		rule.CEL = pick(w.Generator, nil, nil, new(w.text(hostileConditions)))
		a.Rules = append(a.Rules, rule)
	}
	return pick(w.Generator, nil, a)
}
