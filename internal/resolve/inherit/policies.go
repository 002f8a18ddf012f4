package inherit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Kind is a kind of policy whose settings are inherited by what is below its targets.
type Kind[S any] struct {
	attach.Kind[S]
	// Resolve resolves the object of a key: its targets, and what is wrong with its settings.
	Resolve func(v *store.View, objects *store.Objects, key string) attach.Policy[S]
	// Convert is what merged settings mean for proxies. A setting that cannot be served is left out, or fails closed. The names of settings
	// are in the tags of the values' fields.
	Convert func(v *store.View, objects *store.Objects, e *attach.Effective[S]) Values
	// Broken is a policy whose resolution panicked, made of the last one, which is zero if there is none. Nil keeps the last one: that is not
	// enough for what protects something.
	Broken func(v *store.View, objects *store.Objects, key string, last attach.Policy[S]) attach.Policy[S]
	// Unserved says what of a policy the proxies of a Gateway cannot serve, nil for nothing. Nil is for a kind that all proxies serve.
	Unserved func(p *attach.Policy[S], gateway *ir.Gateway) *refs.Problem
}

// Values are what settings mean for proxies. They have no origins.
type Values struct {
	Request     ir.RequestPolicy
	Destination ir.DestinationSettings
}

// Policies are the policies of one kind.
type Policies[S any] struct {
	Kind    *Kind[S]
	Objects *store.Objects
	Table   *store.Table[attach.Policy[S]]
	// ByTarget finds the policies that target an object, or a section of it, by [TargetKey].
	ByTarget *store.Index[attach.Policy[S]]
}

// TargetKey is the key of a whole object in [Policies.ByTarget]. That of a route is the key of the route.
func TargetKey(t attach.Target) string { return t.Kind + "/" + t.Key() }

// TargetKeys are the keys of what a policy targets, sorted, each once.
func TargetKeys[S any](_ string, p attach.Policy[S]) []string {
	keys := make([]string, 0, len(p.Targets))
	for _, t := range p.Targets {
		keys = append(keys, TargetKey(t))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Layer merges the policies that target some objects and sections of them, from GatewayClass to rule, without what is above and below. It
// is nil where there are none.
func (p Policies[S]) Layer(v *store.View, chain []attach.Target) *Layer {
	policies := p.attached(v, chain)
	if len(policies) == 0 {
		return nil
	}
	e := p.Kind.Merge(attach.Subject{Chain: chain}, policies)
	if len(e.Origins) == 0 && len(e.Losses) == 0 {
		return nil
	}
	values := p.Kind.Convert(v, p.Objects, &e)
	layer := &Layer{Origins: e.Origins, Losses: e.Losses}
	request, destination := values.Request, values.Destination
	request.Origins = origins(requestFields, &request, e.Origins)
	destination.Origins = origins(destinationFields, &destination, e.Origins)
	if !request.IsZero() {
		layer.Request = &request
	}
	layer.Destination = ir.NewDestinationLayer(destination, overridden(destinationFields, &destination, e.Origins))
	return layer
}

// Sections are the sections of an object that policies target, sorted, each once.
func (p Policies[S]) Sections(v *store.View, object attach.Target) []string {
	var sections []string
	for _, policy := range p.attached(v, []attach.Target{object}) {
		for _, t := range policy.Targets {
			if t.Object() == object && t.Section != "" {
				sections = append(sections, t.Section)
			}
		}
	}
	slices.Sort(sections)
	return slices.Compact(sections)
}

// attached lists the policies that target any object of a chain, or a section of it, in the order of their names.
func (p Policies[S]) attached(v *store.View, chain []attach.Target) []*attach.Policy[S] {
	var list []*attach.Policy[S]
	var seen []string
	for _, t := range chain {
		key := TargetKey(t)
		if slices.Contains(seen, key) {
			continue
		}
		seen = append(seen, key)
		for _, name := range p.ByTarget.Keys(v, key) {
			if policy, ok := p.Table.Get(v, name); ok {
				list = append(list, &policy)
			}
		}
	}
	slices.SortFunc(list, func(a, b *attach.Policy[S]) int { return strings.Compare(a.Ref.Key(), b.Ref.Key()) })
	return slices.CompactFunc(list, func(a, b *attach.Policy[S]) bool { return a.Ref == b.Ref })
}

// origins are the policies that the values of fields come from, sorted.
func origins[T any](fields []field, value *T, from []attach.Origin) []ir.Origin {
	var list []ir.Origin
	for _, f := range fields {
		if f.setting == "" || reflect.ValueOf(value).Elem().Field(f.index).IsZero() {
			continue
		}
		for _, o := range from {
			if o.Setting == f.setting {
				object := ir.ObjectRef{Kind: o.Object.Kind, Name: ir.Name{Namespace: o.Object.Namespace, Name: o.Object.Name}}
				list = append(list, ir.Origin{Setting: o.Setting, Object: object, Overrides: o.Overrides})
			}
		}
	}
	slices.SortFunc(list, ir.Origin.Compare)
	return slices.Compact(list)
}

func overridden[T any](fields []field, value *T, from []attach.Origin) []string {
	var names []string
	for _, f := range fields {
		if f.setting == "" || reflect.ValueOf(value).Elem().Field(f.index).IsZero() {
			continue
		}
		if slices.ContainsFunc(from, func(o attach.Origin) bool { return o.Setting == f.setting && o.Overrides }) {
			names = append(names, f.setting)
		}
	}
	return names
}

// IsRequest says whether a setting is one of requests.
func IsRequest(setting string) bool { return hasSetting(requestFields, setting) }

// IsDestination says whether a setting is one of destinations.
func IsDestination(setting string) bool { return hasSetting(destinationFields, setting) }

func hasSetting(fields []field, setting string) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return f.setting == setting })
}
