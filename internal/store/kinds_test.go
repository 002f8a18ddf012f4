package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestEveryKindHasADescriptor compares the constants with the descriptors: one of each.
func TestEveryKindHasADescriptor(t *testing.T) {
	t.Parallel()
	described := map[Kind]int{}
	for _, d := range Kinds {
		described[d.Kind]++
	}
	for _, kind := range constants(t) {
		if described[kind] != 1 {
			t.Errorf("%s has %d descriptors", kind, described[kind])
		}
		delete(described, kind)
	}
	for kind := range described {
		t.Errorf("%s has no constant", kind)
	}
}

// constants reads the values of all constants of type Kind.
func constants(t *testing.T) []Kind {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if named, ok := spec.Type.(*ast.Ident); ok && named.Name == "Kind" {
				for _, value := range spec.Values {
					literal, _ := value.(*ast.BasicLit)
					name, _ := strconv.Unquote(literal.Value)
					kinds = append(kinds, Kind(name))
				}
			}
		}
		return true
	})
	if len(kinds) == 0 {
		t.Fatal("kinds.go has no constants")
	}
	return kinds
}

// TestDescriptorsAreTrue compares what can be known otherwise: the names of the type, and that each kind has a table of its own.
func TestDescriptorsAreTrue(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, d := range Kinds {
		known, _, err := scheme.ObjectKinds(d.Object)
		if want := (schema.GroupVersionKind{Group: d.Group, Version: d.Versions[0], Kind: string(d.Kind)}); err != nil || known[0] != want {
			t.Errorf("the type of %s is that of %v: %v", d.Kind, known, err)
		}
		objects := NewObjects(New())
		objects.Apply(Change{Kind: d.Kind, Key: "a/b", Object: d.New()})
		if filled := filled(objects); filled != 1 {
			t.Errorf("an object of %s is in %d tables", d.Kind, filled)
		}
		if d.Status != nil && d.Status(d.New()) == nil {
			t.Errorf("%s has no status", d.Kind)
		}
	}
}

// filled counts the tables that hold something.
func filled(o *Objects) int {
	count := 0
	all := reflect.ValueOf(o.tables)
	for i := range all.NumField() {
		if table, ok := all.Field(i).Interface().(interface{ Len() int }); ok && table.Len() > 0 {
			count++
		}
	}
	return count
}

func TestADescriptorThatLacksSomethingPanics(t *testing.T) {
	t.Parallel()
	table := func(o *Objects) **Table[*gwv1.Gateway] { return &o.Gateways }
	for _, c := range []struct {
		name       string
		descriptor Descriptor
		typed      typed[*gwv1.Gateway]
		want       string
	}{
		{
			"no resource",
			Descriptor{Kind: Gateway, Versions: []string{"v1"}, Served: ByDefinition},
			typed[*gwv1.Gateway]{table: table},
			"no resource",
		},
		{
			"no table",
			Descriptor{Kind: Gateway, Resource: "x", Versions: []string{"v1"}, Served: ByDefinition},
			typed[*gwv1.Gateway]{},
			"no table",
		},
		{
			"no comparison",
			Descriptor{Kind: Gateway, Resource: "x", Versions: []string{"v1"}},
			typed[*gwv1.Gateway]{table: table},
			"does not say which changes count",
		},
		{
			"a cache for a kind that may not be served",
			Descriptor{Kind: Gateway, Resource: "x", Versions: []string{"v1"}, Served: ByDefinition},
			typed[*gwv1.Gateway]{table: table, trim: func(*gwv1.Gateway) {}},
			"may not be served",
		},
		{
			"on demand of nothing",
			Descriptor{Kind: Gateway, Resource: "x", Versions: []string{"v1"}, Served: OnDemand},
			typed[*gwv1.Gateway]{table: table, changed: func(_, _ *gwv1.Gateway) bool { return false }},
			"what needs it",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if message, _ := recover().(string); !strings.Contains(message, c.want) {
					t.Errorf("panic: %q", message)
				}
			}()
			describe(gatewayAPI, c.descriptor, c.typed)
		})
	}
}
