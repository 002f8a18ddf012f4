package quarantine

import (
	"reflect"
	"testing"
)

// TestNACKsHaveAnOrder has two NACKs that differ in one field: replicas take them in the same order.
func TestNACKsHaveAnOrder(t *testing.T) {
	t.Parallel()
	var fields func(of reflect.Value, check func(field reflect.Value))
	fields = func(of reflect.Value, check func(reflect.Value)) {
		for _, field := range of.Fields() {
			if field.Kind() == reflect.Struct {
				fields(field, check)
			} else {
				check(field)
			}
		}
	}
	var a, b NACK
	fields(reflect.ValueOf(&b).Elem(), func(field reflect.Value) {
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		default:
			field.Set(reflect.ValueOf(1).Convert(field.Type()))
		}
		if one, other := a.compare(b), b.compare(a); one == 0 || one != -other || b.compare(b) != 0 {
			t.Errorf("%+v and %+v compare as %d and %d", a, b, one, other)
		}
		field.SetZero()
	})
}
