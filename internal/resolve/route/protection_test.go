package route_test

import (
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
)

func TestNoEarlierVersionIsServedWithoutALaterPolicy(t *testing.T) {
	t.Parallel()
	version := func(path string, policy *ir.RequestPolicy) route.Resolved {
		return route.Resolved{Kind: "HTTPRoute", Rules: []route.Rule{{Rule: ir.Rule{
			Name: "HTTPRoute/a/b/0/0", Match: ir.Match{Path: ir.StringMatch{Value: path}}, Policy: policy,
		}}}}
	}
	jwt := &ir.RequestPolicy{JWT: &ir.JWT{Policy: ir.Name{Namespace: "a", Name: "p"}}}
	filter := &ir.RequestPolicy{Auth: &ir.ExternalAuth{PathPrefix: "/x"}}
	policy := &ir.RequestPolicy{Auth: filter.Auth, Origins: []ir.Origin{{Setting: "extAuth"}}}
	for name, c := range map[string]struct {
		good, refused *ir.RequestPolicy
		want          bool
	}{
		"no policies":                  {nil, nil, true},
		"a policy that came later":     {nil, jwt, false},
		"the same policy":              {jwt, jwt, true},
		"a policy that is gone":        {jwt, nil, true},
		"another policy":               {jwt, &ir.RequestPolicy{BasicAuth: &ir.BasicAuth{}}, false},
		"a timeout that came later":    {nil, &ir.RequestPolicy{RequestTimeout: new(time.Second)}, true},
		"a filter of the route itself": {nil, filter, true},
		"the same of a policy":         {nil, policy, false},
	} {
		if got := version("/good", c.good).Replaces(version("/refused", c.refused)); got != c.want {
			t.Errorf("%s: the earlier version is served: %t", name, got)
		}
	}
}
