package route

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestReplicasReadARouteAsItWas sets every field that a rule can have. A field that is lost on the way to another replica may be a guard.
func TestReplicasReadARouteAsItWas(t *testing.T) {
	t.Parallel()
	var rule Rule
	fill(reflect.ValueOf(&rule).Elem(), "Rule")
	rule.Match.Preflight, rule.Place = false, nil
	rule = rule.placed()
	sent := Resolved{Kind: "HTTPRoute", Name: ir.Name{Namespace: "a", Name: "b"}, Created: 1, Rules: []Rule{rule}}
	fill(reflect.ValueOf(&sent.Attachments).Elem(), "Attachments")
	fill(reflect.ValueOf(&sent.Backends).Elem(), "Backends")
	sent.Outcome.Generation = 3
	text, err := sent.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	differences(t, "Resolved", reflect.ValueOf(sent), reflect.ValueOf(read))
}

// fill sets a value and all its parts to something that differs from zero.
func fill(v reflect.Value, path string) {
	switch of := v.Addr().Interface().(type) {
	case *time.Duration:
		*of = time.Second
		return
	case *ir.Backend:
		*of = ir.Backend{Kind: ir.KindService, Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP1}
		return
	case *ir.ObjectRef:
		*of = ir.ObjectRef{Kind: "SecurityPolicy", Name: ir.Name{Namespace: "a", Name: "b"}}
		return
	case *ir.TableID:
		*of = ir.ParseTableID("infra/web/80")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic(fmt.Sprintf("%s has kind %s", path, v.Kind()))
	}
}

// differences reports the parts that two values do not have in common.
func differences(t *testing.T, path string, want, got reflect.Value) {
	t.Helper()
	switch {
	case reflect.DeepEqual(want.Interface(), got.Interface()):
	case want.Kind() == reflect.Pointer && !got.IsNil():
		differences(t, path, want.Elem(), got.Elem())
	case want.Kind() == reflect.Slice && got.Len() == want.Len():
		for i := range want.Len() {
			differences(t, fmt.Sprintf("%s[%d]", path, i), want.Index(i), got.Index(i))
		}
	case want.Kind() == reflect.Struct:
		for i := range want.NumField() {
			if want.Type().Field(i).IsExported() {
				differences(t, path+"."+want.Type().Field(i).Name, want.Field(i), got.Field(i))
			}
		}
	default:
		t.Errorf("%s is read as %v, want %v", path, got, want)
	}
}
