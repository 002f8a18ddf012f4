package dataplane_test

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// recorder is a plane that records its calls.
type recorder struct {
	states map[xds.GroupID]string
	calls  []string
}

func (r *recorder) Serve(gateway ir.Gateway) {
	r.calls = append(r.calls, "serve "+gateway.Name.String())
}
func (r *recorder) Leave(gateway ir.Name) { r.calls = append(r.calls, "leave "+gateway.String()) }
func (r *recorder) Own(group xds.GroupID, uid string) {
	r.calls = append(r.calls, "own "+group.String()+" "+uid)
}

func (r *recorder) Apply(changes []xds.Change) map[xds.GroupID]string {
	r.calls = append(r.calls, "apply "+changes[0].Name)
	return r.states
}

func (r *recorder) ApplyEndpoints(changes map[string]*xds.Resource) {
	for name := range changes {
		r.calls = append(r.calls, "endpoints "+name)
	}
}

func TestEveryPlaneGetsEveryCall(t *testing.T) {
	t.Parallel()
	b, c := xds.GroupID{Namespace: "a", Name: "b"}, xds.GroupID{Namespace: "a", Name: "c"}
	first, second := &recorder{states: map[xds.GroupID]string{b: "1", c: "1"}}, &recorder{states: map[xds.GroupID]string{c: "2"}}
	planes := dataplane.Planes{first, second}
	planes.Serve(ir.Gateway{Name: ir.ParseName("a/b")})
	planes.Own(b, "uid")
	states := planes.Apply([]xds.Change{{Name: "x"}})
	planes.ApplyEndpoints(map[string]*xds.Resource{"y": nil})
	planes.Leave(ir.ParseName("a/b"))
	if states[b] != "1" || states[c] != "2" {
		t.Errorf("the states are %v: a plane that names one has the last word", states)
	}
	want := []string{"serve a/b", "own a/b uid", "apply x", "endpoints y", "leave a/b"}
	if !slices.Equal(first.calls, want) || !slices.Equal(second.calls, want) {
		t.Errorf("the calls are %v and %v, want %v", first.calls, second.calls, want)
	}
}
