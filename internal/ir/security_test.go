package ir_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestAnyAuthenticationWeakensNoOverride: a more specific policy must not make credentials of its own enough where another one overrides.
func TestAnyAuthenticationWeakensNoOverride(t *testing.T) {
	t.Parallel()
	from := func(policy, setting string, overrides bool) ir.Origin {
		object := ir.ObjectRef{Kind: "SecurityPolicy", Name: ir.Name{Namespace: "a", Name: policy}}
		return ir.Origin{Setting: setting, Object: object, Overrides: overrides}
	}
	both := ir.RequestPolicy{JWT: &ir.JWT{}, APIKeyAuth: &ir.APIKeyAuth{}, Authentication: &ir.Authentication{Any: true}}
	off := both
	off.JWT = &ir.JWT{Guard: ir.Off}
	for _, c := range []struct {
		name    string
		policy  ir.RequestPolicy
		origins []ir.Origin
		want    bool
	}{
		{"one policy", both, []ir.Origin{from("p", "jwt", false), from("p", "apiKeyAuth", false), from("p", "authentication", false)}, true},
		{
			"one policy that overrides", both,
			[]ir.Origin{from("p", "jwt", true), from("p", "apiKeyAuth", true), from("p", "authentication", true)},
			true,
		},
		{
			"defaults of another policy", both,
			[]ir.Origin{from("up", "jwt", false), from("p", "apiKeyAuth", false), from("p", "authentication", false)},
			true,
		},
		{
			"an override, and credentials that are added below", both,
			[]ir.Origin{from("up", "jwt", true), from("p", "apiKeyAuth", false), from("p", "authentication", false)},
			false,
		},
		{
			"an override that is content with any, and credentials that are added below", both,
			[]ir.Origin{from("up", "jwt", true), from("p", "apiKeyAuth", false), from("up", "authentication", true)},
			false,
		},
		{
			"an override, and another policy that is content with any", both,
			[]ir.Origin{from("up", "jwt", true), from("up", "apiKeyAuth", true), from("p", "authentication", false)},
			false,
		},
		{
			"an override that asks for nothing", off,
			[]ir.Origin{from("up", "jwt", true), from("p", "apiKeyAuth", false), from("p", "authentication", false)},
			true,
		},
		{
			"an override of something else", both,
			[]ir.Origin{from("up", "cors", true), from("p", "jwt", false), from("p", "apiKeyAuth", false), from("p", "authentication", false)},
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.policy.Origins = c.origins
			if got := c.policy.AnyAuthentication(); got != c.want {
				t.Errorf("one kind of credentials is enough: %t", got)
			}
			if got := c.policy.Protection().Authentication.Any; got != c.want {
				t.Errorf("one kind is enough for the protection: %t", got)
			}
		})
	}
}
