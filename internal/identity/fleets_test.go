package identity

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestFleets(t *testing.T) {
	t.Parallel()
	gateway := ir.Name{Namespace: "shop", Name: "edge"}
	tests := []struct {
		name string
		do   func(*Fleets)
		want string
	}{
		{"nothing is known", func(*Fleets) {}, ""},
		{"a Gateway whose fleet does not exist yet", func(f *Fleets) { f.Serve(gateway, "1") }, ""},
		{"a fleet of a Gateway that is not served", func(f *Fleets) { f.Run(edge, Owner{gateway, "1"}) }, ""},
		{"a fleet of a Gateway that is served", func(f *Fleets) { f.Serve(gateway, "1"); f.Run(edge, Owner{gateway, "1"}) }, "shop/edge"},
		{"a fleet that an earlier Gateway of the name left", func(f *Fleets) { f.Serve(gateway, "2"); f.Run(edge, Owner{gateway, "1"}) }, ""},
		{"a fleet without an owner, a Gateway without a UID", func(f *Fleets) { f.Serve(gateway, ""); f.Run(edge, Owner{gateway, ""}) }, ""},
		{"a fleet under the name of an earlier class", func(f *Fleets) {
			f.Serve(gateway, "1")
			f.Run(edge, Owner{gateway, "1"})
			f.Run(ServiceAccount{"shop", "edge-other"}, Owner{gateway, "1"})
		}, "shop/edge"},
		{"a name that two Gateways would have is the owner's", func(f *Fleets) {
			f.Serve(gateway, "1")
			f.Serve(ir.Name{Namespace: "shop", Name: "edge-gate"}, "2")
			f.Run(edge, Owner{ir.Name{Namespace: "shop", Name: "edge-gate"}, "2"})
		}, "shop/edge-gate"},
		{"a fleet that is gone", func(f *Fleets) { f.Serve(gateway, "1"); f.Run(edge, Owner{gateway, "1"}); f.End(edge) }, ""},
		{"a Gateway that is gone", func(f *Fleets) { f.Serve(gateway, "1"); f.Run(edge, Owner{gateway, "1"}); f.Leave(gateway) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fleets := NewFleets()
			test.do(fleets)
			name, ok := fleets.gateway(edge)
			if ok != (test.want != "") || ok && name.String() != test.want {
				t.Errorf("got %s, %v; want %q", name, ok, test.want)
			}
		})
	}
}
