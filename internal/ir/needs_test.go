package ir_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestEveryReferenceIsNeeded: whatever a value names in a field of these names, however deep, is declared as a need.
func TestEveryReferenceIsNeeded(t *testing.T) {
	t.Parallel()
	for _, value := range []ir.Needer{
		&ir.VirtualHost{}, &ir.Rule{}, &ir.RequestPolicy{}, &ir.DestinationPolicy{}, &ir.Stream{}, &ir.ExternalAuth{},
		&ir.ListenerFilter{}, &ir.AccessLog{}, &ir.Tracing{}, &ir.Port{}, &ir.Chain{}, &ir.ClientValidation{},
		&ir.BackendTLS{},
	} {
		t.Run(reflect.TypeOf(value).Elem().Name(), func(t *testing.T) {
			t.Parallel()
			f := filler{}
			f.fill(reflect.ValueOf(value).Elem(), "")
			needs := ir.NeedsOf(value)
			for _, c := range []struct {
				what string
				got  []string
				want []string
			}{
				{"backends", texts(needs.Backends()), f["Backend"]},
				{"certificates", needs.Certificates(), slices.Concat(f["Certificates"], f["ClientCertificate"])},
				{"authorities", needs.Authorities(), f["Authorities"]},
			} {
				if diff := cmp.Diff(slices.Sorted(slices.Values(c.want)), c.got); diff != "" {
					t.Errorf("%s (-named +needed):\n%s", c.what, diff)
				}
			}
			if len(f) == 0 {
				t.Error("it names nothing")
			}
		})
	}
}

// filler gives every field of a value a value, and knows what it called the strings in each field that refers to something.
type filler map[string][]string

func (f filler) fill(v reflect.Value, field string) {
	if v.Type() == reflect.TypeFor[ir.Backend]() {
		b := ir.Backend{Object: ir.Name{Namespace: "n", Name: fmt.Sprintf("b%03d", len(f[field]))}, Port: 80, Protocol: ir.BackendHTTP1}
		v.Set(reflect.ValueOf(b))
		f[field] = append(f[field], b.String())
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), field)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Uint32:
		v.SetUint(1)
	case reflect.String:
		if slices.Contains([]string{"Certificates", "ClientCertificate", "Authorities"}, field) {
			v.SetString(fmt.Sprintf("%s-%d", field, len(f[field])))
			f[field] = append(f[field], v.String())
		}
	default:
	}
}

func backend(name string) ir.Backend {
	return ir.Backend{Object: ir.Name{Namespace: "n", Name: name}, Port: 80, Protocol: ir.BackendHTTP1}
}

func texts(backends []ir.Backend) []string {
	var list []string
	for _, b := range backends {
		list = append(list, b.String())
	}
	return list
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	t.Run("what leads nowhere is not needed", func(t *testing.T) {
		t.Parallel()
		needs := ir.NeedsOf(&ir.Rule{
			Policy:  &ir.RequestPolicy{Auth: &ir.ExternalAuth{}},
			Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Weight: 1}, {Backend: backend("a")}}, Mirrors: []ir.Mirror{{}}},
		}, (*ir.Tracing)(nil), &ir.BackendTLS{}, (*ir.BackendTLS)(nil))
		if got := texts(
			needs.Backends(),
		); !slices.Equal(got, []string{"n/a/80"}) || len(needs.Certificates()) > 0 ||
			len(needs.Authorities()) > 0 {
			t.Errorf("needs %+v", needs)
		}
	})
	t.Run("a backend that gets no connections is not needed", func(t *testing.T) {
		t.Parallel()
		stream := &ir.Stream{Backends: []ir.StreamBackend{
			{Backend: backend("b"), Weight: 1}, {Backend: backend("c")}, {Backend: backend("a"), Weight: 1}, {Backend: backend("b"), Weight: 2},
		}}
		if got := texts(ir.NeedsOf(stream).Backends()); !slices.Equal(got, []string{"n/a/80", "n/b/80"}) {
			t.Errorf("needs %v", got)
		}
	})
}
