package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
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

// TestWhoComesOrGoesLeavesTheOthersWhatTheyNeed: whatever the order in which Gateways come to share proxies, change and go, these have
// what a control plane would give them that has just started.
func TestWhoComesOrGoesLeavesTheOthersWhatTheyNeed(t *testing.T) {
	t.Parallel()
	// In the second of these policies on Gateways that share proxies, and in the third a client certificate of one that leaves, once changed
	// the clusters of others.
	for _, seed := range []uint64{6, 3, 11} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			comeAndGo(t, fuzzobjects.New(seed, 12))
		})
	}
}

func comeAndGo(t *testing.T, w fuzzobjects.Generator) {
	t.Helper()
	warm, have := newGraph(), holdings{}
	warm.objects.System = fuzzobjects.System
	current := map[subject]store.Change{}
	shared, most := 0, 0
	// It takes a while until enough Gateways share proxies.
	for step := range 4 * steps {
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
		cold.objects.System = fuzzobjects.System
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
		most = max(most, len(warm.served(xds.GroupID(ir.SharedFleet("ours")))))
	}
	if shared == 0 || most < 3 {
		t.Errorf("there are too few objects: %d times a shared cluster, at most %d Gateways on one fleet", shared, most)
	}
}
