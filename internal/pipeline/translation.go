package pipeline

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/internal/xds"
)

// translation is a valid resource, and the parts that were left out because they violate Envoy's validation rules. If the resource as a
// whole violates them, there is none, and proxies keep the version they have.
type translation struct {
	resource *xds.Resource
	invalid  []wire.ValidationError
	// limit is the one that the endpoints exceed, empty for none.
	limit string
	// idle is set if there are no endpoints, and count is how many there are.
	idle  bool
	count int
	// hidesReports is set for a cluster whose endpoints report their load to proxies alone.
	hidesReports bool
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
	return translation{invalid: []wire.ValidationError{{Reason: err.Error()}}}
}

// keeps says that proxies keep the version they have.
func (t translation) keeps() bool {
	return t.resource == nil && slices.ContainsFunc(t.invalid, func(part wire.ValidationError) bool { return part.Owner == "" })
}

func sameTranslation(a, b translation) bool {
	return version(a.resource) == version(b.resource) && a.limit == b.limit &&
		a.hidesReports == b.hidesReports && slices.Equal(a.invalid, b.invalid)
}

// version is empty for a resource that is not there.
func version(r *xds.Resource) string {
	if r == nil {
		return ""
	}
	return r.Everywhere()
}

// locatedError is a validation error and the resource that has it.
type locatedError struct {
	xds.Change
	wire.ValidationError
}

// takeResources takes the translations of a table that are different now.
func takeResources(table *store.Table[translation], describe func(key string) xds.Change) (changes []xds.Change, invalid []locatedError) {
	for _, key := range table.TakeChanged() {
		change := describe(key)
		t, _ := table.Get(nil, key)
		for _, f := range t.invalid {
			invalid = append(invalid, locatedError{change, f})
		}
		if t.keeps() {
			continue
		}
		change.Resource = t.resource
		changes = append(changes, change)
	}
	return changes, invalid
}

// logValidationErrors counts and logs validation errors. Each is a gap in the checks of the resolvers.
func (p *Pipeline) logValidationErrors(invalid []locatedError) {
	for _, f := range invalid {
		p.metrics.validationErrors.WithLabelValues(f.Type.String()).Inc()
		p.log.Error("left out configuration that proxies would reject; this is a bug, please report it",
			"gateway", f.Group.String(), "type", f.Type.String(), "resource", f.Name, "rule", f.Owner, "reason", f.Reason)
	}
}
