package gateway

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
)

// closeListeners closes the listeners that cannot be served and share a port with one that is: no wider listener gets requests that were
// meant for a filter or a client certificate that it does not ask for. Where no listener of the port is served, there is no port.
func (r *Resolved) closeListeners() {
	open := map[string]bool{}
	for _, l := range r.Listeners {
		if l.Attachable {
			open[l.portID()] = true
		}
	}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		byHostname := l.Protocol == ir.HTTP || l.Protocol.ChoosesByName()
		if l.Attachable || l.Conflict != "" || !byHostname || !open[l.portID()] {
			continue
		}
		l.Closed = true
		if l.Accepted {
			continue
		}
		l.Conditions = slices.Clone(l.Conditions)
		note := "; until then connections for its hostname are closed"
		if l.answers() {
			note = "; until then requests for its hostname are answered 500"
		}
		if accepted := &l.Conditions[0]; accepted.State == outcome.False {
			accepted.Message += note
		}
	}
}

// portID is that of the port that the listener shares with others.
func (l Listener) portID() string { return ir.Port{Number: l.Port, Protocol: l.Protocol}.ID() }

// answers says whether proxies can read the requests of a listener, to answer them with an error.
func (l Listener) answers() bool {
	return l.Protocol == ir.HTTP || l.Protocol == ir.HTTPS && len(l.Certificates) > 0
}

// onPort says whether a listener has a part of its port, be it only to answer errors.
func (l Listener) onPort() bool { return l.Attachable || l.Closed }

// unserved are the filters of a closed listener: nothing passes one that cannot be served.
var unserved = []ir.ListenerFilter{{}}
