package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
)

// closeListeners closes the listeners that cannot be served and share a port with one that is: no wider listener gets requests that were
// meant for a filter or a client certificate that it does not ask for. Where no listener of the port is served, there is no port.
func (r *Resolved) closeListeners() {
	open := map[string]*openPort{}
	for _, l := range r.Listeners {
		if l.Attachable {
			at := open[l.portID()]
			if at == nil {
				at = &openPort{protocol: l.Protocol, served: map[string]bool{}, kept: map[string]bool{}}
				open[l.portID()] = at
			}
			at.serve(l)
		}
	}
	for i := range r.Listeners {
		l := &r.Listeners[i]
		at, byHostname := open[l.portID()], l.Protocol == ir.HTTP || l.Protocol.ChoosesByName()
		if at != nil && byHostname && !l.Attachable && l.Conflict == "" {
			at.kept[l.Hostname] = true
			l.close()
		}
	}
	// Those without their port come last: they keep a hostname only if no other listener has it.
	for i := range r.Listeners {
		l := &r.Listeners[i]
		if at := open[l.portID()]; at != nil && l.withoutPort() && at.leavesToWider(l.Hostname) {
			at.kept[l.Hostname] = true
			l.Protocol, l.Terminates, l.Certificates, l.Clients, l.Filters = at.protocol, at.protocol.ChoosesByName(), nil, nil, nil
			l.Table = table(r.Gateway.Name.String(), *l)
			l.close()
		}
	}
}

// openPort is a port on which listeners are served.
type openPort struct {
	// protocol is HTTPS where listeners of HTTPS and TLS share the port.
	protocol ir.Protocol
	// served are the hostnames of listeners that are served, and kept those of listeners that are not.
	served, kept map[string]bool
}

func (p *openPort) serve(l Listener) {
	p.served[l.Hostname] = true
	if l.Protocol == ir.HTTPS {
		p.protocol = ir.HTTPS
	}
}

// leavesToWider says whether no listener of the port has a hostname, but a wider one takes its requests. So a listener without a hostname
// closes nothing. Whole connections are not chosen by hostname.
func (p *openPort) leavesToWider(hostname string) bool {
	if p.protocol == ir.TCP || p.protocol == ir.UDP || p.served[hostname] || p.kept[hostname] {
		return false
	}
	return slices.ContainsFunc(covering(hostname)[1:], func(wider string) bool { return p.served[wider] })
}

// withoutPort says whether the port of a listener is that of listeners with another protocol, or its protocol is not known.
func (l Listener) withoutPort() bool {
	return !l.Attachable && (l.Conflict == string(gwv1.ListenerReasonProtocolConflict) || l.Conflict == "" && !l.known)
}

// close closes a listener, and says so where the listener itself is at fault.
func (l *Listener) close() {
	l.Closed = true
	if l.Accepted {
		return
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

// ClosedBy is the Gateway with the policies that close a listener. It is for status alone.
func (r Resolved) ClosedBy(policies func(Listener) string) Resolved {
	r.Listeners = slices.Clone(r.Listeners)
	for i := range r.Listeners {
		if r.Listeners[i].Attachable {
			r.Listeners[i].ClosedBy = policies(r.Listeners[i])
		}
	}
	return r
}

// ClosesConnections is what a listener does that policies close.
func ClosesConnections(policies string) string {
	return "closes every connection because of " + policies
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
