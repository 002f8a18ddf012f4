package app

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/identity"
	"github.com/gatewright/gatewright/internal/infra/apply"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/watch"
)

// fleetSink passes on which fleets are wanted, and remembers whose their objects are, so that one that another client changed or deleted is
// restored, and whose proxies are known by their ServiceAccount.
type fleetSink struct {
	applier    *apply.Applier
	identities *identity.Fleets
	planes     dataplane.Planes
	tracker    *convergence.Tracker
	// system is the namespace that Gatewright runs in.
	system string

	mu     sync.Mutex
	owners map[string]ir.Name
	names  map[ir.Name]string
	// workloads are the kinds of workloads that each fleet has.
	workloads map[string]map[store.Kind]identity.Owner
}

var _ pipeline.Fleets = (*fleetSink)(nil)

func newFleetSink(applier *apply.Applier, identities *identity.Fleets, system string) *fleetSink {
	return &fleetSink{
		applier: applier, identities: identities, system: system, owners: map[string]ir.Name{}, names: map[ir.Name]string{},
		workloads: map[string]map[store.Kind]identity.Owner{},
	}
}

// Set says how a Gateway's fleet should be.
func (f *fleetSink) Set(gateway ir.Gateway) {
	f.serve(gateway)
	f.applier.Set(gateway)
}

// Freeze says that a Gateway's fleet should stay as it is.
func (f *fleetSink) Freeze(gateway ir.Gateway) {
	if !gateway.Fleet.Suspended {
		f.serve(gateway)
	}
	f.applier.Freeze(gateway)
}

func (f *fleetSink) serve(gateway ir.Gateway) {
	key := store.Key(gateway.FleetNamespace(), gateway.Fleet.Name)
	f.mu.Lock()
	delete(f.owners, f.names[gateway.Name])
	f.owners[key], f.names[gateway.Name] = gateway.Name, key
	f.mu.Unlock()
	f.planes.Serve(gateway)
	f.tracker.Fleet(gateway, key)
}

// Release says that a Gateway exists and should have no fleet but the one named.
func (f *fleetSink) Release(gateway ir.Name, fleet ir.Fleet) {
	f.forget(gateway)
	if fleet.Name == "" {
		f.planes.Leave(gateway)
	} else {
		f.planes.Serve(ir.Gateway{Name: gateway, Fleet: fleet})
	}
	f.applier.Release(gateway, fleet)
}

// Delete says that a Gateway is gone.
func (f *fleetSink) Delete(gateway ir.Name) {
	f.forget(gateway)
	f.planes.Leave(gateway)
	f.applier.Delete(gateway)
}

func (f *fleetSink) forget(gateway ir.Name) {
	f.tracker.Fleet(ir.Gateway{Name: gateway}, "")
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.owners, f.names[gateway])
	delete(f.names, gateway)
}

// runs says that a workload of a fleet is there, or gone if the object is nil. A fleet runs as long as it has one.
func (f *fleetSink) runs(kind store.Kind, key string, workload metav1.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.workloads[key] == nil {
		f.workloads[key] = map[store.Kind]identity.Owner{}
	}
	delete(f.workloads[key], kind)
	if workload != nil {
		if gateway, uid, ok := render.OwnerOf(workload, f.system); ok {
			f.workloads[key][kind] = identity.Owner{Gateway: gateway, UID: uid, Leaving: workload.GetDeletionTimestamp() != nil}
		}
	}
	name := ir.ParseName(key)
	fleet := identity.ServiceAccount{Namespace: name.Namespace, Name: name.Name}
	if owner, ok := ownerOf(f.workloads[key]); ok {
		f.identities.Run(fleet, owner)
		return
	}
	delete(f.workloads, key)
	f.identities.End(fleet)
}

// ownerOf is whose a fleet is that consists of these workloads, by one that stays if there is any.
func ownerOf(workloads map[store.Kind]identity.Owner) (owner identity.Owner, ok bool) {
	for _, kind := range []store.Kind{store.Deployment, store.DaemonSet} {
		if found, exists := workloads[kind]; exists && (!ok || owner.Leaving) {
			owner, ok = found, true
		}
	}
	return owner, ok
}

// observed passes on what was seen of an object of a fleet. Kinds share the fleet's name.
func (f *fleetSink) observed(e watch.Owned) {
	f.mu.Lock()
	owner, ours := f.owners[store.KeyOf(e.Object)]
	f.mu.Unlock()
	if ours {
		f.applier.Observed(owner, e.Kind, e.Object, e.Gone)
	}
}
