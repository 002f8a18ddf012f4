package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/worldtest"
	"github.com/gatewright/gatewright/internal/xds"
)

// holdings is what proxies have been given, as the changes say that came to them.
type holdings map[string]string

func (h holdings) take(g *graph) {
	changes, _ := g.resourceChanges()
	for _, c := range changes {
		name := fmt.Sprintf("%s: %s %s %s", c.Group, c.Type, c.Table, c.Name)
		if c.Resource == nil {
			delete(h, name)
		} else {
			h[name] = version(c.Resource)
		}
	}
}

// TestWhoComesOrGoesLeavesTheOthersWhatTheyNeed: whatever the order in which Gateways come to share proxies, change and go, these have what a control plane would give them
// that has just started.
func TestWhoComesOrGoesLeavesTheOthersWhatTheyNeed(t *testing.T) {
	t.Parallel()
	w := worldtest.New(11, 12)
	warm, have := newGraph(), holdings{}
	warm.objects.System = worldtest.System
	current := map[subject]store.Change{}
	shared, most := 0, 0
	for step := range steps {
		c := w.Change()
		warm.objects.Apply(c)
		warm.memo.Run()
		have.take(warm)
		if c.Object == nil {
			delete(current, subject{c.Kind, c.Key})
		} else {
			current[subject{c.Kind, c.Key}] = c
		}
		if step%10 > 0 {
			continue
		}
		cold, want := newGraph(), holdings{}
		cold.objects.System = worldtest.System
		for _, c := range current {
			cold.objects.Apply(c)
		}
		cold.memo.Run()
		want.take(cold)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("step %d, after a change of %s %s (cold -, incremental +):\n%s", step, c.Kind, c.Key, diff)
		}
		for _, name := range slices.Collect(maps.Keys(have)) {
			if strings.HasPrefix(name, ir.SharedFleet("ours").String()+": "+xds.Cluster.String()) {
				shared++
			}
		}
		most = max(most, len(warm.served(ir.SharedFleet("ours").String())))
	}
	if shared == 0 || most < 3 {
		t.Errorf("the world is too small: %d times a shared cluster, at most %d Gateways on one fleet", shared, most)
	}
}

func TestAMovedGatewayTakesAllItHasWithIt(t *testing.T) {
	t.Parallel()
	s := newSupply()
	cluster, err := xds.NewResource(&clusterv3.Cluster{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	set := func(gateway string) xds.Change {
		return xds.Change{Group: gateway, Type: xds.Cluster, Name: "a", Resource: cluster}
	}
	if got := s.pass(set("x/one"), "", "/shared"); len(got) != 1 || got[0].Group != "/shared" || got[0].Resource == nil {
		t.Errorf("the first to need a cluster brings it: %v", got)
	}
	s.pass(set("x/two"), "", "/shared")
	if got := s.pass(set("x/one"), "/shared", ""); len(got) != 0 {
		t.Errorf("the cluster is still needed: %v", got)
	}
	if got := s.pass(set("x/two"), "/shared", "/other"); len(got) != 2 || got[0].Resource != nil || got[1].Group != "/other" {
		t.Errorf("the last takes it along: %v", got)
	}
	if len(s.holders) != 1 {
		t.Errorf("%v is remembered", s.holders)
	}
}
