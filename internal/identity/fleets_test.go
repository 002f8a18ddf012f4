package identity

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestFleets(t *testing.T) {
	t.Parallel()
	gateway := ir.Name{Namespace: "shop", Name: "edge"}
	owner := Owner{Gateway: gateway, UID: "1"}
	inSystem := ServiceAccount{system.Namespace, "edge-gatewright-12345678"}
	tests := []struct {
		name string
		do   func(*Fleets)
		want string
	}{
		{"nothing is known", func(*Fleets) {}, ""},
		{"a Gateway whose fleet does not exist yet", func(f *Fleets) { f.Serve(gateway, "1", edge) }, ""},
		{"a fleet of a Gateway that is not served", func(f *Fleets) { f.Run(edge, owner) }, ""},
		{"a fleet of a Gateway that is served", func(f *Fleets) { f.Serve(gateway, "1", edge); f.Run(edge, owner) }, "shop/edge"},
		{"a fleet that an earlier Gateway of the name left", func(f *Fleets) { f.Serve(gateway, "2", edge); f.Run(edge, owner) }, ""},
		{
			"a fleet without an owner, a Gateway without a UID",
			func(f *Fleets) { f.Serve(gateway, "", edge); f.Run(edge, Owner{Gateway: gateway}) }, "",
		},
		{"a fleet under the name of an earlier class", func(f *Fleets) {
			f.Serve(gateway, "1", ServiceAccount{"shop", "edge-other"})
			f.Run(edge, owner)
			f.Run(ServiceAccount{"shop", "edge-other"}, owner)
		}, "shop/edge"},
		{"a name that two Gateways would have is the owner's", func(f *Fleets) {
			f.Serve(gateway, "1", edge)
			f.Serve(ir.Name{Namespace: "shop", Name: "edge-gate"}, "2", edge)
			f.Run(edge, Owner{Gateway: ir.Name{Namespace: "shop", Name: "edge-gate"}, UID: "2"})
		}, "shop/edge-gate"},
		{"a fleet that is gone", func(f *Fleets) { f.Serve(gateway, "1", edge); f.Run(edge, owner); f.End(edge) }, ""},
		{"a Gateway that is gone", func(f *Fleets) { f.Serve(gateway, "1", edge); f.Run(edge, owner); f.Leave(gateway) }, ""},
		{
			"a workload beside a Gateway whose proxies are placed in Gatewright's namespace",
			func(f *Fleets) { f.Serve(gateway, "1", inSystem); f.Run(edge, owner) }, "",
		},
		{"the same before the Gateway is known", func(f *Fleets) { f.Run(edge, owner); f.Serve(gateway, "1", inSystem) }, ""},
		{
			"a Gateway whose placement was never known", func(f *Fleets) { f.Serve(gateway, "1", ServiceAccount{}); f.Run(edge, owner) },
			"shop/edge",
		},
		{"a placement that was known and is not now", func(f *Fleets) {
			f.Serve(gateway, "1", inSystem)
			f.Serve(gateway, "1", ServiceAccount{})
			f.Run(edge, owner)
		}, ""},
		{"a placement that was not known and is now", func(f *Fleets) {
			f.Serve(gateway, "1", ServiceAccount{})
			f.Run(edge, owner)
			f.Serve(gateway, "1", inSystem)
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fleets := NewFleets(system.Namespace)
			test.do(fleets)
			owner, ok := fleets.owner(edge)
			if ok != (test.want != "") || ok && owner.Gateway.String() != test.want {
				t.Errorf("got %s, %v; want %q", owner.Gateway, ok, test.want)
			}
		})
	}
}

func TestAFleetThatIsReplacedElsewhereCountsUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	gateway := ir.Name{Namespace: "shop", Name: "edge"}
	owner := Owner{Gateway: gateway, UID: "1"}
	inSystem := ServiceAccount{system.Namespace, "edge-gatewright-12345678"}
	forged := ServiceAccount{"shop", "forged"}
	moved := func() *Fleets {
		f := NewFleets(system.Namespace)
		f.Serve(gateway, "1", edge)
		f.Run(edge, owner)
		f.Run(forged, owner)
		f.Serve(gateway, "1", inSystem)
		f.Run(inSystem, owner)
		return f
	}
	tests := []struct {
		name    string
		do      func(*Fleets)
		account ServiceAccount
		want    bool
	}{
		{"the former one, while both run", func(*Fleets) {}, edge, true},
		{"the new one, while both run", func(*Fleets) {}, inSystem, true},
		{"another workload beside the former one", func(*Fleets) {}, forged, false},
		{"the former one, after more of the same", func(f *Fleets) { f.Serve(gateway, "1", inSystem); f.Run(edge, owner) }, edge, true},
		{"the former one, when it is being deleted and has a finalizer", func(f *Fleets) {
			f.Run(edge, Owner{Gateway: gateway, UID: "1", Leaving: true})
		}, edge, false},
		{"the former one, created again by a tenant", func(f *Fleets) { f.End(edge); f.Run(edge, owner) }, edge, false},
		{"the former one of a Gateway that was made anew", func(f *Fleets) { f.Serve(gateway, "2", inSystem) }, edge, false},
		{"the one in Gatewright's namespace, after the way back", func(f *Fleets) { f.Serve(gateway, "1", edge) }, inSystem, true},
		{"the wanted one, while it is being deleted", func(f *Fleets) {
			f.Serve(gateway, "1", edge)
			f.Run(edge, Owner{Gateway: gateway, UID: "1", Leaving: true})
		}, edge, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fleets := moved()
			test.do(fleets)
			if _, ok := fleets.owner(test.account); ok != test.want {
				t.Errorf("admitted: %v, want %v", ok, test.want)
			}
		})
	}
}
