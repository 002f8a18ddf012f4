package route_test

import (
	"testing"

	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	rule := to("r", path(ir.Prefix, "/"))
	rule.Policy.CORS = &ir.CORS{
		Origins: []ir.StringMatch{{Kind: ir.Regex, Value: "https://.*"}, {Value: "http://a.example"}},
		Methods: []string{"GET", "PUT"}, Headers: []string{"*"}, Expose: []string{"x-a", "x-b"}, Credentials: true, MaxAge: 7,
	}
	var policy corsv3.CorsPolicy
	if err := only(t, rule).GetTypedPerFilterConfig()[filter.CORS].UnmarshalTo(&policy); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, got, want string }{
		{"methods", policy.GetAllowMethods(), "GET, PUT"},
		{"headers", policy.GetAllowHeaders(), "*"},
		{"exposed headers", policy.GetExposeHeaders(), "x-a, x-b"},
		{"age", policy.GetMaxAge(), "7"},
		{"first origin", policy.GetAllowOriginStringMatch()[0].GetSafeRegex().GetRegex(), "https://.*"},
		{"second origin", policy.GetAllowOriginStringMatch()[1].GetExact(), "http://a.example"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	if !policy.GetAllowCredentials().GetValue() || policy.GetForwardNotMatchingPreflights().GetValue() {
		t.Errorf("got %v", &policy)
	}
	t.Run("is not there for a rule without it", func(t *testing.T) {
		t.Parallel()
		if got := only(t, to("r", path(ir.Prefix, "/"))).GetTypedPerFilterConfig(); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
}
