package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// findConflicts gives each listener that loses a conflict the reason. GEP-1713: the listener that comes first wins, so adding a
// listener never takes one away that serves. One that lost, or that is not served anyway, takes nothing from others.
func findConflicts(entries []entry) []*refs.Problem {
	conflicts := make([]*refs.Problem, len(entries))
	byPort := map[socket][]entry{}
	for i, e := range entries {
		port := socketOf(e.spec)
		winners := byPort[port]
		for _, winner := range winners {
			if conflicts[i] = conflict(e, winner); conflicts[i] != nil {
				break
			}
		}
		if conflicts[i] == nil && e.unsupported == nil {
			byPort[port] = append(winners, e)
		}
	}
	return conflicts
}

// socket is what two listeners may fight over: a TCP and a UDP port of the same number are two.
type socket struct {
	port gwv1.PortNumber
	udp  bool
}

func socketOf(spec *gwv1.Listener) socket {
	return socket{port: spec.Port, udp: spec.Protocol == gwv1.UDPProtocolType}
}

// conflict says why two listeners can not share a port. Those of HTTPS and TLS can, because the server name tells their clients apart.
func conflict(loser, winner entry) *refs.Problem {
	byName := ir.Protocol(loser.spec.Protocol).ChoosesByName() && ir.Protocol(winner.spec.Protocol).ChoosesByName()
	sameHostname := hostnameOf(loser.spec) == hostnameOf(winner.spec)
	switch {
	case loser.spec.Protocol != winner.spec.Protocol && (!byName || sameHostname):
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonProtocolConflict),
			Message: fmt.Sprintf("%s has port %d with protocol %s; give this one another port",
				winner.seenFrom(loser), winner.spec.Port, winner.spec.Protocol),
		}
	case sameHostname:
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonHostnameConflict),
			Message: fmt.Sprintf("%s has port %d with the same hostname; give this one another hostname or port",
				winner.seenFrom(loser), winner.spec.Port),
		}
	default:
		return nil
	}
}
