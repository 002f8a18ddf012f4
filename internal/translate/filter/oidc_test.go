package filter

import (
	"testing"

	oauth2v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/oauth2/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestBearerTokensPassALogInOnlyIfTheyAreVerified: passThroughAuthHeader leaves tokens to jwt of the same policy.
func TestBearerTokensPassALogInOnlyIfTheyAreVerified(t *testing.T) {
	t.Parallel()
	policy := ir.Name{Namespace: "app", Name: "policy"}
	jwt := func(change func(*ir.JWT)) *ir.JWT {
		j := &ir.JWT{Policy: policy, Providers: []ir.JWTProvider{{Name: "p", Headers: []ir.TokenHeader{{Name: "x-token"}}}}}
		change(j)
		return j
	}
	for _, c := range []struct {
		name string
		jwt  *ir.JWT
		any  bool
		want bool
	}{
		{"tokens of the same policy", jwt(func(*ir.JWT) {}), false, true},
		{"no tokens", nil, false, false},
		{"tokens that are turned off", jwt(func(j *ir.JWT) { j.Guard = ir.Off }), false, false},
		{"tokens of another policy", jwt(func(j *ir.JWT) { j.Policy.Name = "other" }), false, false},
		{"optional tokens", jwt(func(j *ir.JWT) { j.Optional = true }), false, false},
		{"invalid tokens pass", jwt(func(j *ir.JWT) { j.FailOpen = true }), false, false},
		{"a log-in is enough, and tokens are looked for elsewhere", jwt(func(*ir.JWT) {}), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := oidcRun(&ir.RequestPolicy{
				OIDC: &ir.OIDC{Policy: policy, PassBearer: true}, JWT: c.jwt, Authentication: &ir.Authentication{Any: c.any},
			})
			config, ok := asked[0].config.(*oauth2v3.OAuth2)
			if !ok {
				t.Fatalf("the filter has %T", asked[0].config)
			}
			if got := len(config.GetConfig().GetPassThroughMatcher()) > 0; got != c.want {
				t.Errorf("bearer tokens pass: %t", got)
			}
		})
	}
}
