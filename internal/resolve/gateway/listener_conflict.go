package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// findConflicts gives each listener that loses a conflict the reason. GEP-1713: the listener that comes first wins, so adding a
// listener never takes one away that serves. One that lost takes nothing from others, nor one that cannot have its port. One that is not
// served for another reason keeps its hostname: a request that it was to check gets to no other listener.
func findConflicts(entries []entry) []*refs.Problem {
	conflicts := make([]*refs.Problem, len(entries))
	taken := map[socket]claims{}
	for i, e := range entries {
		port := socketOf(e.spec)
		held, ok := taken[port]
		if !ok {
			held = claims{first: e, byHostname: map[string]entry{}}
		}
		conflicts[i] = held.conflict(e)
		if conflicts[i] == nil && impossible(e.spec) == nil {
			held.byHostname[hostnameOf(e.spec)] = e
			taken[port] = held
		}
	}
	return conflicts
}

// claims are the listeners that share a socket, none of which is in conflict with another. So a new one either is at odds with all
// of them, and the first one tells, or at most with the one that has its hostname.
type claims struct {
	first      entry
	byHostname map[string]entry
}

func (c claims) conflict(e entry) *refs.Problem {
	if len(c.byHostname) == 0 {
		return nil
	}
	if problem := conflict(e, c.first); problem != nil {
		return problem
	}
	if winner, ok := c.byHostname[hostnameOf(e.spec)]; ok {
		return conflict(e, winner)
	}
	return nil
}

// socket is what two listeners may fight over: a TCP and a UDP port of the same number are two.
type socket struct {
	port gwv1.PortNumber
	udp  bool
}

func socketOf(spec *gwv1.Listener) socket {
	return socket{port: spec.Port, udp: spec.Protocol == gwv1.UDPProtocolType}
}

// conflict says why two listeners cannot share a port. Those of HTTPS and TLS can, because the server name tells their clients apart.
func conflict(loser, winner entry) *refs.Problem {
	byName := ir.Protocol(loser.spec.Protocol).ChoosesByName() && ir.Protocol(winner.spec.Protocol).ChoosesByName()
	sameHostname := hostnameOf(loser.spec) == hostnameOf(winner.spec)
	switch {
	case loser.spec.Protocol != winner.spec.Protocol && (!byName || sameHostname):
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonProtocolConflict),
			Message: fmt.Sprintf("%s has port %d with protocol %s; give this one another port",
				winner.nameFor(loser), winner.spec.Port, winner.spec.Protocol),
		}
	case sameHostname:
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonHostnameConflict),
			Message: fmt.Sprintf("%s has port %d with the same hostname; give this one another hostname or port",
				winner.nameFor(loser), winner.spec.Port),
		}
	default:
		return nil
	}
}
