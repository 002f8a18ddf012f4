package convergence

import (
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

// Connected implements [xds.Observer].
func (t *Tracker) Connected(proxy xds.Identity) { t.sessions.count("", proxy, 1) }

// Disconnected implements [xds.Observer].
func (t *Tracker) Disconnected(proxy xds.Identity) { t.sessions.count("", proxy, -1) }

// Holds implements [xds.Observer].
func (t *Tracker) Holds(proxy xds.Identity, state string) { t.sessions.ack("", proxy, state) }

// Leaves implements [xds.Observer].
func (t *Tracker) Leaves(proxy xds.Identity) { t.sessions.leave("", proxy) }

// PeerHolds sets the state that a proxy has acknowledged to another replica, empty if none. left reports that it has been sent another one
// since.
func (t *Tracker) PeerHolds(replica string, proxy xds.Identity, connected time.Time, state string, left bool) {
	t.sessions.replace(replica, proxy, connected, acked{state, left})
}

// PeerForgets reports that a proxy has disconnected from another replica.
func (t *Tracker) PeerForgets(replica string, proxy xds.Identity) {
	t.sessions.count(replica, proxy, -1)
}

// PeerLeft reports that nothing is known about the proxies of another replica any more.
func (t *Tracker) PeerLeft(replica string) { t.sessions.drop(replica) }
