package main

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// ourNames are kinds with another name than in the list.
var ourNames = map[string]string{"EnvoyExtensionPolicy": "Extension"}

func ourName(kind string) string {
	if name, ok := ourNames[kind]; ok {
		return name
	}
	return kind
}

// specOf is the type of a kind's spec, nil if there is no such kind.
func specOf(kind string) reflect.Type {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil
	}
	object, ok := scheme.KnownTypes(v1alpha1.GroupVersion)[kind]
	if !ok {
		return nil
	}
	spec, ok := object.FieldByName("Spec")
	if !ok {
		return nil
	}
	return spec.Type
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// has reports whether a type has a field of that path, such as `endpoints[].ip.port`. What a path ends with may be a struct.
func has(t reflect.Type, path string) bool {
	for segment := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(segment, "[]")
		if t = elem(t); t == nil || t.Kind() != reflect.Struct || t.Implements(marshaler) {
			return false
		}
		field, ok := fieldOf(t, name)
		if !ok {
			return false
		}
		t = field
		if list {
			if t = elem(t); t.Kind() != reflect.Slice {
				return false
			}
			t = t.Elem()
		}
	}
	return true
}

func elem(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldOf finds a field by its name in JSON, also in structs that are inline.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && name != "" {
			return f.Type, true
		}
		if tag == "" && (strings.Contains(options, "inline") || f.Anonymous) {
			if inner := elem(f.Type); inner.Kind() == reflect.Struct {
				if found, ok := fieldOf(inner, name); ok {
					return found, true
				}
			}
		}
	}
	return nil, false
}
