package inherit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
)

const (
	requestTimeout = "timeout.http.requestTimeout"
	retry          = "retry"
)

var (
	rule  = attach.HTTPRoutes.Target("app", "r", "0")
	upper = attach.Ref{Kind: "BackendTrafficPolicy", Namespace: "infra", Name: "upper"}
	lower = attach.Ref{Kind: "BackendTrafficPolicy", Namespace: "app", Name: "lower"}
)

func by(policy attach.Ref, settings ...string) (list []ir.Origin) {
	for _, s := range settings {
		list = append(list, ir.Origin{
			Setting: s, Object: ir.ObjectRef{Kind: policy.Kind, Name: ir.Name{Namespace: policy.Namespace, Name: policy.Name}},
		})
	}
	return list
}

// layer has a request timeout of 10s and one retry, by the upper policy.
func layer(overrides bool) *inherit.Layer {
	l := &inherit.Layer{Request: &ir.RequestPolicy{
		RequestTimeout: new(10 * time.Second), Retry: &ir.Retry{Attempts: 1}, Origins: by(upper, retry, requestTimeout),
	}}
	for _, s := range []string{retry, requestTimeout} {
		l.Origins = append(l.Origins, attach.Origin{Setting: s, Object: upper, Overrides: overrides, Path: "spec." + s})
	}
	return l
}

func TestRequests(t *testing.T) {
	t.Parallel()
	inline := &ir.RequestPolicy{RequestTimeout: new(time.Second)}
	policy := &ir.RequestPolicy{RequestTimeout: new(time.Second), Origins: by(lower, requestTimeout)}
	for name, c := range map[string]struct {
		above    *inherit.Layer
		own      *ir.RequestPolicy
		want     *ir.RequestPolicy
		rejected int
	}{
		"without policies a rule keeps its fields": {own: inline, want: inline},
		"a rule without settings has those above":  {above: layer(false), want: layer(false).Request},
		"a field of the rule wins over a default": {
			above: layer(false), own: inline,
			want: &ir.RequestPolicy{RequestTimeout: new(time.Second), Retry: &ir.Retry{Attempts: 1}, Origins: by(upper, retry)},
		},
		"an override of a field rejects the rule": {
			above: layer(true), own: inline, rejected: 1,
			want: &ir.RequestPolicy{RequestTimeout: new(time.Second), Retry: &ir.Retry{Attempts: 1}, Origins: by(upper, retry)},
		},
		"a policy on the rule wins over a default": {
			above: layer(false), own: policy,
			want: &ir.RequestPolicy{
				RequestTimeout: new(time.Second), Retry: &ir.Retry{Attempts: 1},
				Origins: append(by(lower, requestTimeout), by(upper, retry)...),
			},
		},
		"an override wins over a policy on the rule": {above: layer(true), own: policy, want: layer(true).Request},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, rejections := c.above.Requests(c.own, rule)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(want -, got +):\n%s", diff)
			}
			if len(rejections) != c.rejected {
				t.Errorf("rejections are %v, want %d", rejections, c.rejected)
			}
		})
	}
}

func TestNothingToAddKeepsTheValue(t *testing.T) {
	t.Parallel()
	own := &ir.RequestPolicy{RequestTimeout: new(time.Second), Retry: &ir.Retry{}}
	if got, _ := layer(false).Requests(own, rule); got != own {
		t.Error("a value that stays the same is copied")
	}
}

func TestDestination(t *testing.T) {
	t.Parallel()
	timeout := func(d time.Duration, overrides ...string) *ir.DestinationLayer {
		return ir.NewDestinationLayer(ir.DestinationSettings{ConnectTimeout: &d}, overrides)
	}
	const name = "timeout.tcp.connectTimeout"
	for title, c := range map[string]struct {
		layers []*ir.DestinationLayer
		want   time.Duration
	}{
		"one layer":                           {[]*ir.DestinationLayer{nil, timeout(1), nil}, 1},
		"the most specific layer wins":        {[]*ir.DestinationLayer{timeout(1), timeout(2), timeout(3)}, 3},
		"an override stays":                   {[]*ir.DestinationLayer{timeout(1), timeout(2, name), timeout(3)}, 2},
		"of several overrides the upper stay": {[]*ir.DestinationLayer{timeout(1, name), timeout(2, name)}, 1},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			for _, l := range c.layers {
				if l != nil {
					l.Settings.Origins = by(upper, name)
				}
			}
			if got := inherit.Destination(c.layers...); *got.ConnectTimeout != c.want {
				t.Errorf("got %d, want %d", *got.ConnectTimeout, c.want)
			}
		})
	}
	if inherit.Destination(nil, nil) != nil {
		t.Error("no layers have settings")
	}
}

func TestVariantsAreNamedByTheirSettings(t *testing.T) {
	t.Parallel()
	one := ir.NewDestinationLayer(ir.DestinationSettings{ConnectTimeout: new(time.Second), Origins: by(upper, "a")}, nil)
	same := ir.NewDestinationLayer(ir.DestinationSettings{ConnectTimeout: new(time.Second), Origins: by(lower, "a")}, nil)
	other := ir.NewDestinationLayer(ir.DestinationSettings{ConnectTimeout: new(time.Minute)}, nil)
	if ir.VariantOf(nil, one) != ir.VariantOf(nil, same) {
		t.Error("the same settings of two policies are two variants")
	}
	backend := ir.Backend{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP1}
	seen := map[string]bool{}
	for _, variant := range []string{"", ir.VariantOf(one, nil), ir.VariantOf(nil, one), ir.VariantOf(one, other), ir.VariantOf(other, one)} {
		b := backend.With(variant)
		parsed, _ := ir.ParseBackend(b.String())
		if parsed != b || seen[b.String()] {
			t.Errorf("%s is not the name of one variant", b)
		}
		seen[b.String()] = true
	}
	if listener, rule := backend.With(ir.VariantOf(one, other)).VariantDigests(); listener != one.Digest || rule != other.Digest {
		t.Errorf("the digests are %q and %q", listener, rule)
	}
}
