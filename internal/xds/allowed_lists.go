package xds

import "math"

// A proxy that reconnects lists the name and the version of everything it has of a type, and the names of endpoints and secrets twice. A
// request larger than the server receives would keep it from ever connecting again, so there is room for all that a proxy can have.
const (
	// listedName is the length of a name that counts once among those that a proxy may list. A longer one counts once more for each such
	// length, see the limits gatewayHostnames and gatewayBackends.
	listedName = 128
	// listedRoom is for such a name in a request, with its version and the lengths of both.
	listedRoom = listedName + 2*versionBytes + 12
	// The least of [allowedLists], which is enough for small Gateways with many listeners, and for what few have many of.
	leastReceived  = 16 << 20
	leastGone      = 32 << 10
	leastGoneBytes = 4 << 20
)

// allowedLists are what a proxy may list when it connects.
type allowedLists struct {
	// received is the size of a request. While a proxy rejects routes, the hosts of earlier versions may be beside theirs.
	received int
	// gone is the number of listed resources that do not exist any more, and goneBytes the length of their names, of all types together.
	// Each of them has to be removed, so none can be ignored.
	gone, goneBytes int
}

func allow(hostnames, backends int) allowedLists {
	names := hostnames + 2*backends
	return allowedLists{
		received: min(max(leastReceived, 2*max(hostnames, 2*backends)*listedRoom), math.MaxInt32),
		gone:     leastGone + names, goneBytes: leastGoneBytes + names*listedName,
	}
}

// AllowListed says how many hostnames and backends the proxies of a Gateway can have, so that they can list all of these when they
// reconnect. Call it before Serve.
func (s *Server) AllowListed(hostnames, backends int) { s.allowed = allow(hostnames, backends) }
