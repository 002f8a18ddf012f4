package filter_test

import (
	"slices"
	"testing"

	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// chain is the names of the filters of a connection manager.
func chain(t *testing.T, c ir.Chain) []string {
	t.Helper()
	var names []string
	for _, f := range filter.Chain(&ir.Port{}, &c) {
		prototest.Valid(t, f)
		names = append(names, f.GetName())
	}
	return names
}

func TestOrder(t *testing.T) {
	t.Parallel()
	t.Run("is what the filters need", func(t *testing.T) {
		t.Parallel()
		want := []string{
			filter.HealthCheck, filter.FindHost, filter.HideEnvoy, filter.Loops, filter.BeforeRouting(0), filter.BeforeRouting(1),
			filter.ResponseOverride,
			filter.CORS, filter.GRPCWeb, filter.GRPCWebEverywhere, filter.AuthBeforeRouting, filter.JWTBeforeRouting, filter.CSRF,
			filter.ExternalAuth, filter.APIKeyAuth, filter.BasicAuth, filter.OIDC, filter.JWT, filter.AnyAuth, filter.GeoIP,
			filter.Authorization, filter.LocalRateLimit, filter.GlobalRateLimit, filter.AdmissionControl,
			filter.Compressor + "first", filter.Compressor + "second", filter.Compressor + "third",
			filter.Extension(0), filter.Extension(1), filter.Extension(2), filter.Extension(3), filter.Extension(4), filter.Extension(5),
			filter.Extension(6), filter.Extension(7), filter.Fault,
			filter.RequestBandwidth, filter.ResponseBandwidth, filter.Buffer, filter.EndpointPicker, filter.Session, filter.LoadReports,
			filter.Router,
		}
		if got := filter.Names(2); !slices.Equal(got, want) {
			t.Errorf("the order is %v, want %v", got, want)
		}
	})
	t.Run("has no name twice", func(t *testing.T) {
		t.Parallel()
		names := filter.Names(3)
		if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) || sorted[0] == "" {
			t.Errorf("a name is there twice, or is missing: %v", names)
		}
	})
}

func TestChain(t *testing.T) {
	t.Parallel()
	without := func(names []string, left ...string) []string {
		return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(left, n) })
	}
	// Listeners have these only if a client policy asks for them.
	asked := []string{filter.HealthCheck, filter.GRPCWebEverywhere}
	var extensions []string
	for place := range ir.MaxExtensions {
		extensions = append(extensions, filter.Extension(place))
	}
	asked = append(asked, extensions...)
	policy := &ir.ClientPolicy{HealthCheckPath: "/healthz", GRPCWeb: true}
	for name, c := range map[string]struct {
		chain ir.Chain
		want  []string
	}{
		"has all filters where each host is looked up by itself": {chain: ir.Chain{ByHost: true}, want: without(filter.Names(0), asked...)},
		"has those that a policy asks for": {
			chain: ir.Chain{ByHost: true, Policy: policy}, want: without(filter.Names(0), extensions...),
		},
		"has nothing to find a host with where a table has all": {
			want: without(filter.Names(0), append(asked, filter.FindHost)...),
		},
		"has a place for each filter of its listener": {
			chain: ir.Chain{Filters: 2}, want: without(filter.Names(2), append(asked, filter.FindHost)...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := chain(t, c.chain); !slices.Equal(got, c.want) {
				t.Errorf("chain is %v, want %v", got, c.want)
			}
		})
	}
	t.Run("counts for each backend only if that is wanted", func(t *testing.T) {
		t.Parallel()
		for _, wanted := range []bool{false, true} {
			all := filter.Chain(&ir.Port{CountBackends: wanted}, &ir.Chain{})
			var router routerv3.Router
			if err := all[len(all)-1].GetTypedConfig().UnmarshalTo(&router); err != nil {
				t.Fatal(err)
			}
			// Envoy counts unless it is told not to.
			if counts := router.GetDynamicStats() == nil || router.GetDynamicStats().GetValue(); counts != wanted {
				t.Errorf("counts: %t, want %t", counts, wanted)
			}
		}
	})
}
