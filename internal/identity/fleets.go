package identity

import (
	"sync"

	"github.com/gatewright/gatewright/internal/ir"
)

// Owner is the Gateway that a workload belongs to.
type Owner struct {
	Gateway ir.Name
	UID     string
	// Leaving reports that the workload is being deleted.
	Leaving bool
}

// Fleets maps ServiceAccounts to the Gateways whose proxies they run. All objects of a fleet have one name, so the ServiceAccount of a
// pod names the fleet's Deployment. The Deployment's owner is a Gateway, which must be the one that is served now, by UID. So names
// that collide, a Gateway that was created again, or one with another class are not confused.
//
// An owner reference alone proves nothing: anyone who can create Deployments in the Gateway's namespace can write one. So a fleet also has
// to be in the namespace where the Gateway's proxies are placed. Within a namespace the name adds nothing, because a workload there can run
// as any ServiceAccount of it.
type Fleets struct {
	// system is Gatewright's namespace, where only Gatewright creates fleets.
	system string

	mu     sync.RWMutex
	served map[ir.Name]served
	owners map[ServiceAccount]Owner
}

// served is a Gateway that proxies are admitted for.
type served struct {
	uid string
	// wanted is the desired fleet of the Gateway, with an empty namespace while its placement has never been known.
	wanted ServiceAccount
	// former are fleets in other namespaces that were desired before. They count until they are deleted, which is when the desired one
	// serves.
	former map[ServiceAccount]bool
}

// NewFleets returns a Fleets without fleets; system is Gatewright's namespace.
func NewFleets(system string) *Fleets {
	return &Fleets{system: system, served: map[ir.Name]served{}, owners: map[ServiceAccount]Owner{}}
}

// Serve sets the desired fleet of a Gateway. Without a namespace its placement is not known now, and the previous one still holds.
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

// counts reports whether a fleet exists, belongs to the Gateway and is not being deleted.
func (f *Fleets) counts(fleet ServiceAccount, gateway ir.Name, uid string) bool {
	return f.owners[fleet] == Owner{Gateway: gateway, UID: uid}
}

// Leave removes a Gateway that is no longer served.
func (f *Fleets) Leave(gateway ir.Name) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.served, gateway)
}

// Run records that a fleet exists, and its owner.
func (f *Fleets) Run(fleet ServiceAccount, owner Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before, ok := f.owners[fleet]; ok && before != owner {
		delete(f.served[before.Gateway].former, fleet)
	}
	f.owners[fleet] = owner
}

// End removes a fleet that is gone.
func (f *Fleets) End(fleet ServiceAccount) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.served[f.owners[fleet].Gateway].former, fleet)
	delete(f.owners, fleet)
}

// owner returns the Gateway whose proxies run as the ServiceAccount.
func (f *Fleets) owner(account ServiceAccount) (Owner, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	owner, ok := f.owners[account]
	if !ok {
		return Owner{}, false
	}
	s := f.served[owner.Gateway]
	return owner, s.uid != "" && s.uid == owner.UID && f.placed(s, account)
}

// placed reports whether the proxies of a Gateway may run as the ServiceAccount.
func (f *Fleets) placed(s served, account ServiceAccount) bool {
	switch account.Namespace {
	case f.system, s.wanted.Namespace:
		return true
	default:
		return s.wanted.Namespace == "" || s.former[account]
	}
}
