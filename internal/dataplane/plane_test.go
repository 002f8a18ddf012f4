package dataplane_test

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// notebook is a plane that writes down what it is told.
type notebook struct {
	states map[string]string
	told   []string
}

func (n *notebook) Serve(gateway ir.Gateway) { n.told = append(n.told, "serve "+gateway.Name.String()) }
func (n *notebook) Leave(gateway ir.Name)    { n.told = append(n.told, "leave "+gateway.String()) }
func (n *notebook) Apply(changes []xds.Change) map[string]string {
	n.told = append(n.told, "apply "+changes[0].Name)
	return n.states
}

func (n *notebook) ApplyEndpoints(changes map[string]*xds.Resource) {
	for name := range changes {
		n.told = append(n.told, "endpoints "+name)
	}
}

func TestEveryPlaneIsToldEverything(t *testing.T) {
	t.Parallel()
	first, second := &notebook{states: map[string]string{"a/b": "1", "a/c": "1"}}, &notebook{states: map[string]string{"a/c": "2"}}
	planes := dataplane.Planes{first, second}
	planes.Serve(ir.Gateway{Name: ir.ParseName("a/b")})
	states := planes.Apply([]xds.Change{{Name: "x"}})
	planes.ApplyEndpoints(map[string]*xds.Resource{"y": nil})
	planes.Leave(ir.ParseName("a/b"))
	if states["a/b"] != "1" || states["a/c"] != "2" {
		t.Errorf("the states are %v: a plane that names one has the last word", states)
	}
	want := []string{"serve a/b", "apply x", "endpoints y", "leave a/b"}
	if !slices.Equal(first.told, want) || !slices.Equal(second.told, want) {
		t.Errorf("they were told %v and %v, want %v", first.told, second.told, want)
	}
}
