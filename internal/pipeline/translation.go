package pipeline

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/internal/xds"
)

// translation is a resource that keeps the constraints Envoy declares, and what had to be left out for that. Where there are flaws and no
// resource, nothing could be kept, and proxies go on with what they have.
type translation struct {
	resource *xds.Resource
	flaws    []wire.Flaw
	// limit is in the way of more, empty if none is.
	limit string
	// idle says of endpoints that there are none.
	idle bool
}

// checked runs a translation, and lets its result through only if Envoy would.
func checked[M proto.Message](translate func() M) translation {
	message, err := wire.Build(translate)
	if err == nil {
		var r *xds.Resource
		if r, err = xds.NewResource(message); err == nil {
			return translation{resource: r}
		}
	}
	return translation{flaws: []wire.Flaw{{Reason: err.Error()}}}
}

func sameTranslation(a, b translation) bool {
	return version(a.resource) == version(b.resource) && a.limit == b.limit && slices.Equal(a.flaws, b.flaws)
}

// version is empty for a resource that is not there.
func version(r *xds.Resource) string {
	if r == nil {
		return ""
	}
	return r.Everywhere()
}

// found is a flaw and where it is.
type found struct {
	xds.Change
	wire.Flaw
}

// takeResources takes the translations of a table that are different now.
func takeResources(table *store.Table[translation], describe func(key string) xds.Change) (changes []xds.Change, flaws []found) {
	for _, key := range table.TakeChanged() {
		change := describe(key)
		t, _ := table.Get(nil, key)
		for _, f := range t.flaws {
			flaws = append(flaws, found{change, f})
		}
		if t.resource == nil && len(t.flaws) > 0 {
			continue
		}
		change.Resource = t.resource
		changes = append(changes, change)
	}
	return changes, flaws
}

// tell counts flaws and writes them down. None of them should be there: each is a gap in what the resolvers check.
func (p *Pipeline) tell(flaws []found) {
	for _, f := range flaws {
		p.metrics.flaws.WithLabelValues(f.Type.String()).Inc()
		p.log.Error("left out configuration that proxies would refuse; this is a bug, please report it",
			"gateway", f.Group, "type", f.Type.String(), "resource", f.Name, "rule", f.Owner, "reason", f.Reason)
	}
}
