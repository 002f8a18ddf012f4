package app

import (
	"sync"

	"github.com/gatewright/gatewright/internal/infra/apply"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/store"
)

// fleetSink passes on which fleets are wanted, and remembers whose their objects are, so that one that somebody deleted is made again.
type fleetSink struct {
	applier *apply.Applier

	mu     sync.Mutex
	owners map[string]ir.Name
	names  map[ir.Name]string
}

var _ pipeline.Fleets = (*fleetSink)(nil)

func newFleetSink(applier *apply.Applier) *fleetSink {
	return &fleetSink{applier: applier, owners: map[string]ir.Name{}, names: map[ir.Name]string{}}
}

// Set says how a Gateway's fleet should be.
func (f *fleetSink) Set(gateway ir.Gateway) {
	key := store.Key(gateway.Name.Namespace, gateway.Fleet.Name)
	f.mu.Lock()
	delete(f.owners, f.names[gateway.Name])
	f.owners[key], f.names[gateway.Name] = gateway.Name, key
	f.mu.Unlock()
	f.applier.Set(gateway)
}

// Release says that a Gateway exists and should have no fleet but the one named.
func (f *fleetSink) Release(gateway ir.Name, fleet ir.Fleet) {
	f.forget(gateway)
	f.applier.Release(gateway, fleet)
}

// Delete says that a Gateway is gone.
func (f *fleetSink) Delete(gateway ir.Name) {
	f.forget(gateway)
	f.applier.Delete(gateway)
}

func (f *fleetSink) forget(gateway ir.Name) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.owners, f.names[gateway])
	delete(f.names, gateway)
}

// gone says that an object was deleted. Kinds share the fleet's name, so the key is enough.
func (f *fleetSink) gone(key string) {
	f.mu.Lock()
	owner, ours := f.owners[key]
	f.mu.Unlock()
	if ours {
		f.applier.Drifted(owner)
	}
}
