package inherit

import (
	"reflect"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
)

// field is a field of [ir.RequestPolicy] or [ir.DestinationSettings] that is merged as a whole.
type field struct {
	index int
	// setting is the name of the setting, empty for a field that only routes have. inline is the field of a rule that says the same.
	setting, inline string
	// additive is a list of which all levels count.
	additive bool
}

var (
	requestFields     = fieldsOf[ir.RequestPolicy]()
	destinationFields = fieldsOf[ir.DestinationSettings]()
)

const originsField = "Origins"

func fieldsOf[T any]() []field {
	var fields []field
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != originsField {
			fields = append(fields, field{i, f.Tag.Get("setting"), f.Tag.Get("inline"), f.Tag.Get("merge") == "add"})
		}
	}
	return fields
}

func additive(setting string) bool {
	return slices.ContainsFunc(requestFields, func(f field) bool { return f.setting == setting && f.additive })
}

// mergeResult is the result of merging settings with others.
type mergeResult[T any] struct {
	value *T
	// clashes are the fields of a route that are overridden. They are in value as the route has them.
	clashes []field
}

// mergeFields merges settings with those that are above them. What is above stays where it overrides, unless a field of a route says
// otherwise.
func mergeFields[T any](fields []field, above, own *T, overrides func(setting string) bool) mergeResult[T] {
	merged := *own
	from, to := reflect.ValueOf(above).Elem(), reflect.ValueOf(&merged).Elem()
	origins := originsOf(to)
	var taken, replaced []string
	result := mergeResult[T]{value: own}
	for _, f := range fields {
		upper, lower := from.Field(f.index), to.Field(f.index)
		byPolicy := slices.ContainsFunc(origins, func(o ir.Origin) bool { return o.Setting == f.setting })
		switch {
		case upper.IsZero():
			continue
		case lower.IsZero():
			lower.Set(upper)
		case f.additive:
			lower.Set(reflect.AppendSlice(reflect.AppendSlice(reflect.Zero(lower.Type()), upper), lower))
		case f.setting == "" || !overrides(f.setting):
			continue
		case byPolicy:
			lower.Set(upper)
			replaced = append(replaced, f.setting)
		default:
			result.clashes = append(result.clashes, f)
			continue
		}
		taken = append(taken, f.setting)
	}
	if len(taken) > 0 {
		setOrigins(to, origins, replaced, originsOf(from), taken)
		result.value = &merged
	}
	return result
}

func originsOf(v reflect.Value) []ir.Origin {
	origins, _ := v.FieldByName(originsField).Interface().([]ir.Origin)
	return origins
}

// setOrigins stores own origins but those of replaced settings, and those of what was taken.
func setOrigins(to reflect.Value, own []ir.Origin, replaced []string, above []ir.Origin, taken []string) {
	all := slices.DeleteFunc(slices.Clone(own), func(o ir.Origin) bool { return slices.Contains(replaced, o.Setting) && o.Setting != "" })
	for _, o := range above {
		if slices.Contains(taken, o.Setting) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, ir.Origin.Compare)
	to.FieldByName(originsField).Set(reflect.ValueOf(slices.Compact(all)))
}
