package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// findConflicts gives each listener that loses a conflict the reason. GEP-1713: the listener that comes first wins, so adding a
// listener never takes one away that serves. One that lost, or that is not served anyway, takes nothing from others.
func findConflicts(entries []entry) []*refs.Problem {
	conflicts := make([]*refs.Problem, len(entries))
	byPort := map[int32][]entry{}
	for i, e := range entries {
		winners := byPort[e.spec.Port]
		for _, winner := range winners {
			if conflicts[i] = conflict(e, winner); conflicts[i] != nil {
				break
			}
		}
		if conflicts[i] == nil && e.unsupported == nil {
			byPort[e.spec.Port] = append(winners, e)
		}
	}
	return conflicts
}

func conflict(loser, winner entry) *refs.Problem {
	switch {
	case loser.spec.Protocol != winner.spec.Protocol:
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonProtocolConflict),
			Message: fmt.Sprintf("%s has port %d with protocol %s; give this one another port",
				winner.seenFrom(loser), winner.spec.Port, winner.spec.Protocol),
		}
	case hostname(loser.spec.Hostname) == hostname(winner.spec.Hostname):
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonHostnameConflict),
			Message: fmt.Sprintf("%s has port %d with the same hostname; give this one another hostname or port",
				winner.seenFrom(loser), winner.spec.Port),
		}
	default:
		return nil
	}
}
