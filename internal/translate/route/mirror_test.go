package route_test

import (
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// copied is a rule with a mirror.
func copied(timeout *time.Duration) ir.Rule {
	return ir.Rule{Policy: &ir.RequestPolicy{RequestTimeout: timeout}, Forward: &ir.Forward{
		Backends: []ir.WeightedBackend{{Backend: svc("a"), Weight: 1}},
		Mirrors:  []ir.Mirror{{Backend: svc("m"), Numerator: 1, Denominator: 1}},
	}}
}

func TestMirrorsEnd(t *testing.T) {
	t.Parallel()
	minute, none := time.Minute, time.Duration(0)
	for _, c := range []struct {
		name    string
		timeout *time.Duration
		want    string
	}{
		{"a copy is not waited for for ever", nil, "15000"},
		{"not even where the request is", &none, "15000"},
		{"a copy has the timeout of its route", &minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			for _, m := range only(t, copied(c.timeout)).GetRoute().GetRequestMirrorPolicies()[0].GetRequestHeadersMutations() {
				if m.GetAppend().GetHeader().GetKey() == "x-envoy-upstream-rq-timeout-ms" {
					got = m.GetAppend().GetHeader().GetValue()
				}
			}
			if got != c.want {
				t.Errorf("timeout of the copy: %q, want %q", got, c.want)
			}
		})
	}
}

// Envoy sends copies with the default priority, whatever their route has.
func TestRequestsAndTheirCopiesAreCountedApart(t *testing.T) {
	t.Parallel()
	if got := only(t, copied(nil)).GetRoute().GetPriority(); got != corev3.RoutingPriority_HIGH {
		t.Errorf("requests have the priority %s, as their copies have", got)
	}
}
