package filter_test

import (
	"maps"
	"slices"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func switches(t *testing.T, settings map[string]*anypb.Any) (on, off []string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		var config routev3.FilterConfig
		if err := settings[name].UnmarshalTo(&config); err != nil {
			t.Fatal(err)
		}
		prototest.Valid(t, &config)
		switch {
		case config.GetDisabled():
			off = append(off, name)
		case config.GetConfig() != nil:
			// Envoy refuses a setting that is neither.
			on = append(on, name)
		default:
			t.Errorf("%s is neither on nor off", name)
		}
	}
	return on, off
}

func TestUnneededFiltersAreAllThatRoutesCanDoWithout(t *testing.T) {
	t.Parallel()
	on, off := switches(t, filter.Unneeded(true))
	always := []string{filter.HealthCheck, filter.HideEnvoy, filter.Loops, filter.GRPCWebEverywhere, filter.Router}
	want := slices.DeleteFunc(filter.Names(0), func(name string) bool { return slices.Contains(always, name) })
	slices.Sort(want)
	if len(on) > 0 || !slices.Equal(off, want) {
		t.Errorf("on: %v, off: %v, want %v", on, off, want)
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	settings := func(names ...string) map[string]*anypb.Any {
		all := map[string]*anypb.Any{}
		for _, name := range names {
			all[name] = &anypb.Any{}
		}
		return all
	}
	weighted := &routev3.Route{
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_WeightedClusters{
			WeightedClusters: &routev3.WeightedCluster{
				Clusters: []*routev3.WeightedCluster_ClusterWeight{{}, {TypedPerFilterConfig: settings(filter.Session)}},
			},
		}}},
	}
	for name, c := range map[string]struct {
		routes []*routev3.Route
		want   []string
	}{
		"routes without settings need nothing": {routes: []*routev3.Route{{}, {}}},
		"one route is enough": {
			routes: []*routev3.Route{{}, {TypedPerFilterConfig: settings(filter.CORS)}},
			want:   []string{filter.CORS},
		},
		"settings of a backend count":               {routes: []*routev3.Route{weighted}, want: []string{filter.Session}},
		"what is never switched off stays as it is": {routes: []*routev3.Route{{TypedPerFilterConfig: settings(filter.BeforeRouting(0))}}},
		"routes may need different filters": {
			routes: []*routev3.Route{{TypedPerFilterConfig: settings(filter.CORS)}, {TypedPerFilterConfig: settings(filter.ExternalAuth)}},
			want:   []string{filter.ExternalAuth, filter.CORS},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vh := &routev3.VirtualHost{}
			filter.Need(vh, c.routes)
			if on, off := switches(t, vh.GetTypedPerFilterConfig()); !slices.Equal(on, c.want) || len(off) > 0 {
				t.Errorf("on: %v, off: %v, want %v", on, off, c.want)
			}
		})
	}
}
