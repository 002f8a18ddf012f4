package security

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/cel"
)

func (r *resolver) authorization(a *v1alpha1.Authorization, jwt *ir.JWT) ir.Authorization {
	auth := ir.Authorization{Policy: r.policy, Allow: a.DefaultAction != nil && *a.DefaultAction == v1alpha1.AuthorizationAllow}
	auth.Guard = r.guard(nil, func() {
		locations := 0
		for i := range a.Rules {
			rule := r.rule(fmt.Sprintf("authorization.rules[%d]", i), i, &a.Rules[i], jwt)
			auth.Claims = auth.Claims || len(rule.Claims) > 0
			auth.Rules = append(auth.Rules, rule)
			locations += len(rule.Locations)
		}
		if locations > maxLocations {
			r.fail("authorization.rules have %d clientIPGeoLocations, and at most %d are served; remove some", locations, maxLocations)
		}
	})
	return auth
}

func (r *resolver) rule(field string, index int, rule *v1alpha1.AuthorizationRule, jwt *ir.JWT) ir.AuthorizationRule {
	result := ir.AuthorizationRule{Name: fmt.Sprintf("rule %d", index), Allow: rule.Action == v1alpha1.AuthorizationAllow}
	if rule.Name != nil {
		result.Name = *rule.Name
	}
	if o := rule.Operation; o != nil {
		for _, method := range o.Methods {
			result.Methods = append(result.Methods, string(method))
		}
		result.Path = r.path(field+".operation.path", o.Path, result.Allow)
	}
	if p := rule.Principal; p != nil {
		result.CIDRs = r.cidrs(field+".principal.clientCIDRs", p.ClientCIDRs)
		for _, h := range p.Headers {
			name := strings.ToLower(r.token(field+".principal.headers", string(h.Name)))
			if len(h.Values) == 0 {
				r.fail("%s.principal.headers: %s has no values; set some", field, name)
			}
			result.Headers = append(result.Headers, ir.HeaderValues{Name: name, Values: h.Values})
		}
		if p.JWT != nil {
			result.Claims = r.claims(field+".principal.jwt", p.JWT, jwt)
		}
		result.Locations = r.locations(field+".principal.clientIPGeoLocations", p.ClientIPGeoLocations)
	}
	if rule.CEL != nil {
		expression, err := cel.Parse(*rule.CEL, &r.conditions)
		if err != nil {
			r.fail("%s.cel: %v", field, err)
		}
		result.CEL = expression
	}
	lists := len(result.Methods) + len(result.CIDRs) + len(result.Headers) + len(result.Claims) + len(result.Locations)
	if lists == 0 && result.Path == nil && rule.CEL == nil {
		r.fail("%s has no condition; set principal, operation or cel", field)
	}
	return result
}

func (r *resolver) path(field string, p *v1alpha1.AuthorizationPath, allow bool) *ir.PathRule {
	if p == nil {
		return nil
	}
	rule := &ir.PathRule{StringMatch: ir.StringMatch{Kind: ir.Prefix, Value: p.Value}, Invert: p.Invert != nil && *p.Invert}
	if p.Type != nil {
		switch *p.Type {
		case gwv1.PathMatchExact:
			rule.Kind = ir.Exact
		case gwv1.PathMatchRegularExpression:
			rule.Kind = ir.Regex
			if err := r.expressions.Take(p.Value); err != nil {
				r.fail("%s.value: %v", field, err)
			}
			return rule
		case gwv1.PathMatchPathPrefix:
		default:
			r.fail("%s.type %q is not known; use Exact, PathPrefix or RegularExpression", field, *p.Type)
		}
	}
	if !strings.HasPrefix(p.Value, "/") || strings.ContainsAny(p.Value, "?#") {
		r.fail("%s.value %q is not a path; begin it with a slash, and leave out the query", field, p.Value)
	}
	// Proxies compare all that a server may take for the path, by a regular expression.
	if !rule.Strict(allow) {
		if err := r.expressions.Take(rule.Expression(false)); err != nil {
			r.fail("%s.value, in all its spellings: %v", field, err)
		}
	}
	return rule
}

// cidrs are written as Envoy reads them.
func (r *resolver) cidrs(field string, list []v1alpha1.CIDR) []string {
	var cidrs []string
	for _, text := range list {
		prefix, err := netip.ParsePrefix(string(text))
		if err != nil {
			r.fail("%s %q is not a range of addresses; write it like 10.0.0.0/8", field, text)
			continue
		}
		cidrs = append(cidrs, prefix.Masked().String())
	}
	return cidrs
}

// scopePaths are the paths of the claims that have scopes.
func scopePaths() [][]string {
	var paths [][]string
	for _, claim := range ir.ScopeClaims {
		paths = append(paths, []string{claim})
	}
	return paths
}

func (r *resolver) claims(field string, p *v1alpha1.JWTPrincipal, jwt *ir.JWT) []ir.ClaimValues {
	if jwt == nil || !slices.ContainsFunc(jwt.Providers, func(provider ir.JWTProvider) bool { return provider.Name == p.Provider }) {
		r.fail("%s.provider %q is not in jwt of this policy; add it there, or correct the name", field, p.Provider)
	}
	var claims []ir.ClaimValues
	for _, c := range p.Claims {
		if len(c.Values) == 0 {
			r.fail("%s.claims: %s has no values; set some", field, c.Name)
		}
		claims = append(claims, ir.ClaimValues{
			Provider: p.Provider, Paths: [][]string{strings.Split(c.Name, ".")}, Values: c.Values,
			List: c.ValueType != nil && *c.ValueType == v1alpha1.ClaimStringArray,
		})
	}
	for _, scope := range p.Scopes {
		claims = append(claims, ir.ClaimValues{Provider: p.Provider, Paths: scopePaths(), Values: []string{scope}, List: true})
	}
	if len(claims) == 0 {
		r.fail("%s has no condition; set claims or scopes", field)
	}
	return claims
}
