package route_test

import (
	"fmt"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// describe tells where a route sends a request for `/p/q`, as what, and up to which share of all requests it takes part.
func describe(r *routev3.Route) string {
	text := answer(r) + " " + rewritten(r, request{target: "/p/q"})
	if host := r.GetRoute().GetHostRewriteLiteral(); host != "" {
		text += " at " + host
	}
	for _, c := range r.GetRoute().GetWeightedClusters().GetClusters() {
		if c.GetHostRewriteLiteral() != "" {
			text += fmt.Sprintf(" (%s at %s)", short(c.GetName()), c.GetHostRewriteLiteral())
		}
	}
	if f := r.GetMatch().GetRuntimeFraction().GetDefaultValue(); f != nil {
		text += fmt.Sprintf(" up to %d/%s", f.GetNumerator(), f.GetDenominator())
	}
	return text
}

func TestRewritesOnBackends(t *testing.T) {
	t.Parallel()
	full := func(p string) *ir.Rewrite { return &ir.Rewrite{Path: &ir.PathEdit{Full: &p}} }
	prefix := func(p string) *ir.Rewrite { return &ir.Rewrite{Path: &ir.PathEdit{Prefix: &p}} }
	host := func(h string) *ir.Rewrite { return &ir.Rewrite{Hostname: h} }
	backend := func(name string, weight uint32, r *ir.Rewrite) ir.WeightedBackend {
		return ir.WeightedBackend{Backend: svc(name), Weight: weight, Rewrite: r}
	}
	tests := []struct {
		name     string
		rule     *ir.Rewrite
		backends []ir.WeightedBackend
		want     []string
	}{
		{"a single one is the route's", nil, []ir.WeightedBackend{backend("a", 1, full("/x"))}, []string{"a /x"}},
		{"a prefix is replaced", nil, []ir.WeightedBackend{backend("a", 1, prefix("/x"))}, []string{"a /x/q"}},
		{
			"the backend's wins",
			&ir.Rewrite{Hostname: "r", Path: full("/r").Path},
			[]ir.WeightedBackend{backend("a", 1, host("h"))},
			[]string{"a /r at h"},
		},
		{
			"the same for all needs no split", nil,
			[]ir.WeightedBackend{backend("a", 1, full("/x")), backend("b", 1, full("/x"))},
			[]string{"a:1 b:1 /x"},
		},
		{
			"hostnames alone need no split", nil,
			[]ir.WeightedBackend{backend("a", 1, host("x")), backend("b", 1, nil)},
			[]string{"a:1 b:1 /p/q (a at x)"},
		},
		{
			"one without weight takes no part", nil,
			[]ir.WeightedBackend{backend("a", 1, full("/x")), backend("b", 0, full("/y"))},
			[]string{"a /x"},
		},
		{
			"different paths split by weight", nil,
			[]ir.WeightedBackend{backend("a", 2, full("/x")), backend("b", 3, prefix("/y")), backend("", 5, nil)},
			[]string{"a /x up to 200000/MILLION", "b /y/q up to 500000/MILLION", route.UnresolvedBackend + " /p/q"},
		},
		{
			"all shares have the same denominator", nil,
			[]ir.WeightedBackend{backend("a", 1, full("/x")), backend("b", 2, full("/y")), backend("c", 3, full("/z"))},
			[]string{"a /x up to 166667/MILLION", "b /y up to 500000/MILLION", "c /z"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := ir.Rule{
				Name:    "r",
				Match:   ir.Match{Path: path(ir.Prefix, "/p").Path},
				Forward: &ir.Forward{Backends: tt.backends, Rewrite: tt.rule},
			}
			vh, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{rule}})
			prototest.Valid(t, vh)
			var got []string
			for _, r := range vh.GetRoutes() {
				got = append(got, describe(r))
			}
			if strings.Join(got, "; ") != strings.Join(tt.want, "; ") {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}
