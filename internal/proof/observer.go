package proof

import (
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

// Connected says that a proxy is connected to this replica.
func (k *Keeper) Connected(proxy xds.Identity) { k.sessions.count("", proxy, 1) }

// Disconnected says that it is no more.
func (k *Keeper) Disconnected(proxy xds.Identity) { k.sessions.count("", proxy, -1) }

// Holds says that a proxy has all of a state.
func (k *Keeper) Holds(proxy xds.Identity, state string) { k.sessions.holds("", proxy, state) }

// Leaves says that a proxy is about to be sent something else than the state it has.
func (k *Keeper) Leaves(proxy xds.Identity) { k.sessions.leaves("", proxy) }

// PeerHolds says that a proxy that connected to another replica at some time has all of a state, which is empty while that is not known, or
// had it and has been sent something else since.
func (k *Keeper) PeerHolds(replica string, proxy xds.Identity, connected time.Time, state string, left bool) {
	k.sessions.replace(replica, proxy, connected, holding{state, left})
}

// PeerForgets says that a proxy is no longer connected to another replica.
func (k *Keeper) PeerForgets(replica string, proxy xds.Identity) {
	k.sessions.count(replica, proxy, -1)
}

// PeerLeft says that nothing is known any more of the proxies of another replica.
func (k *Keeper) PeerLeft(replica string) { k.sessions.drop(replica) }
