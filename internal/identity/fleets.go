package identity

import (
	"sync"

	"github.com/gatewright/gatewright/internal/ir"
)

// Owner is the Gateway that an object belongs to.
type Owner struct {
	Gateway ir.Name
	UID     string
}

// Fleets knows whose proxies a ServiceAccount runs. A fleet's objects all have one name, so the ServiceAccount of a pod names the fleet's Deployment; that one belongs
// to a Gateway, which must be the one that is served now, and not another of its name. So neither names that collide, nor a Gateway that was made anew, nor one that
// was given another class confuses proxies.
type Fleets struct {
	mu sync.RWMutex
	// served is the UID of each Gateway that is served.
	served map[ir.Name]string
	owners map[ServiceAccount]Owner
}

// NewFleets knows nothing yet.
func NewFleets() *Fleets {
	return &Fleets{served: map[ir.Name]string{}, owners: map[ServiceAccount]Owner{}}
}

// Serve says that a Gateway is served, by every fleet that it has.
func (f *Fleets) Serve(gateway ir.Name, uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served[gateway] = uid
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
	f.owners[fleet] = owner
}

// End says that a fleet is gone.
func (f *Fleets) End(fleet ServiceAccount) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
	uid, ok := f.served[owner.Gateway]
	return owner.Gateway, ok && uid != "" && uid == owner.UID
}
