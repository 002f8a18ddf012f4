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

// NACKed reports that a proxy of a group, of this replica or another, has sent a NACK that no object reports yet. It comes before the state
// that the proxy acknowledges without the rejected version. Until Reported is called with it, nothing of the group converges.
func (t *Tracker) NACKed(group xds.GroupID) { t.sessions.nacked(group, 1) }

// Reported reports that objects report so many NACKs of each group.
func (t *Tracker) Reported(nacks map[xds.GroupID]int) {
	for group, number := range nacks {
		t.sessions.nacked(group, -number)
	}
}

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
