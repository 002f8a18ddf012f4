package attach

import (
	"fmt"
	"reflect"
	"strings"
)

// Field is the setting at a path of the spec, in the names of its JSON form, such as `tls.minVersion`. A policy has it where the pointer
// there is not nil, or the list or map is not empty. It panics for a path that does not exist.
func Field[S any](path string) Setting[S] {
	steps := stepsOf(reflect.TypeFor[S](), path)
	return Setting[S]{
		Name: path,
		has:  func(spec *S) bool { return present(walk(reflect.ValueOf(spec).Elem(), steps, false)) },
		take: func(to, from *S) {
			walk(reflect.ValueOf(to).Elem(), steps, true).Set(walk(reflect.ValueOf(from).Elem(), steps, false))
		},
	}
}

// Fields are the settings at several paths, in that order.
func Fields[S any](paths ...string) []Setting[S] {
	settings := make([]Setting[S], 0, len(paths))
	for _, path := range paths {
		settings = append(settings, Field[S](path))
	}
	return settings
}

// stepsOf finds the index of the field for each name of a path. All but the last are pointers to structs.
func stepsOf(t reflect.Type, path string) [][]int {
	var steps [][]int
	for name := range strings.SplitSeq(path, ".") {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		field, ok := fieldNamed(t, name)
		if !ok {
			panic(fmt.Sprintf("%s has no field %s of the setting %s", t, name, path))
		}
		steps = append(steps, field.Index)
		t = field.Type
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return steps
	default:
		panic(fmt.Sprintf("the setting %s cannot be left out: it is a %s", path, t))
	}
}

// fieldNamed finds a field by its name in JSON, also in structs that are embedded.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name && !field.Anonymous {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// walk follows steps. It makes what is missing on the way, or returns the zero Value there.
func walk(v reflect.Value, steps [][]int, create bool) reflect.Value {
	for _, index := range steps {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !create {
					return reflect.Value{}
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByIndex(index)
	}
	return v
}

func present(v reflect.Value) bool {
	switch {
	case !v.IsValid():
		return false
	case v.Kind() == reflect.Pointer:
		return !v.IsNil()
	default:
		return v.Len() > 0
	}
}
