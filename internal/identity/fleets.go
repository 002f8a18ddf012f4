package identity

import (
	"sync"

	"github.com/gatewright/gatewright/internal/ir"
)

// Owner is the Gateway that a workload belongs to.
type Owner struct {
	Gateway ir.Name
	UID     string
	// Leaving says that the workload is being deleted.
	Leaving bool
}

// Fleets knows whose proxies a ServiceAccount runs. A fleet's objects all have one name, so the ServiceAccount of a pod names the fleet's
// Deployment; that one belongs to a Gateway, which must be the one that is served now, and not another of its name. So neither names that
// collide, nor a Gateway that was made anew, nor one that was given another class confuses proxies.
//
// An owner reference alone proves nothing: everybody who can create Deployments in the Gateway's namespace can write one. So a fleet also
// has to be where the Gateway's proxies are placed. Within a namespace the name adds nothing, because whoever creates workloads there can
// run them as any ServiceAccount of it.
type Fleets struct {
	// system is Gatewright's namespace, where nobody else creates fleets.
	system string

	mu     sync.RWMutex
	served map[ir.Name]served
	owners map[ServiceAccount]Owner
}

// served is a Gateway that proxies are admitted for.
type served struct {
	uid string
	// wanted is the fleet that the Gateway is to have, with an empty namespace while its placement has never been known.
	wanted ServiceAccount
	// former are fleets in other namespaces that were wanted before. They count until they are deleted, which is when the wanted one
	// serves.
	former map[ServiceAccount]bool
}

// NewFleets knows nothing yet but Gatewright's namespace.
func NewFleets(system string) *Fleets {
	return &Fleets{system: system, served: map[ir.Name]served{}, owners: map[ServiceAccount]Owner{}}
}

// Serve says that a Gateway is served, and by which fleet. Without a namespace the placement is not known now, and what was known of it
// still holds.
func (f *Fleets) Serve(gateway ir.Name, uid string, wanted ServiceAccount) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, ok := f.served[gateway]
	if !ok || last.uid != uid {
		f.served[gateway] = served{uid: uid, wanted: wanted, former: map[ServiceAccount]bool{}}
		return
	}
	if wanted.Namespace == "" {
		return
	}
	if f.counts(last.wanted, gateway, uid) {
		last.former[last.wanted] = true
	}
	delete(last.former, wanted)
	last.wanted = wanted
	f.served[gateway] = last
}

// counts says whether a fleet exists, is the Gateway's and is not being deleted.
func (f *Fleets) counts(fleet ServiceAccount, gateway ir.Name, uid string) bool {
	return f.owners[fleet] == Owner{Gateway: gateway, UID: uid}
}

// Leave says that a Gateway is served no more.
func (f *Fleets) Leave(gateway ir.Name) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.served, gateway)
}

// Run says that a fleet exists, and whose it is.
func (f *Fleets) Run(fleet ServiceAccount, owner Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before, ok := f.owners[fleet]; ok && before != owner {
		delete(f.served[before.Gateway].former, fleet)
	}
	f.owners[fleet] = owner
}

// End says that a fleet is gone.
func (f *Fleets) End(fleet ServiceAccount) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.served[f.owners[fleet].Gateway].former, fleet)
	delete(f.owners, fleet)
}

// gateway is the one whose proxies run as the ServiceAccount.
func (f *Fleets) gateway(account ServiceAccount) (ir.Name, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	owner, ok := f.owners[account]
	if !ok {
		return ir.Name{}, false
	}
	s := f.served[owner.Gateway]
	return owner.Gateway, s.uid != "" && s.uid == owner.UID && f.placed(s, account)
}

// placed says whether the proxies of a Gateway may run as the ServiceAccount.
func (f *Fleets) placed(s served, account ServiceAccount) bool {
	switch account.Namespace {
	case f.system, s.wanted.Namespace:
		return true
	default:
		return s.wanted.Namespace == "" || s.former[account]
	}
}
