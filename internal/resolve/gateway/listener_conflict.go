package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/refs"
)

// findConflicts gives each listener that loses a conflict the reason. GEP-1713: the listener that comes first wins, so adding a
// listener never takes one away that serves.
func findConflicts(listeners []gwv1.Listener) []*refs.Problem {
	conflicts := make([]*refs.Problem, len(listeners))
	for i := range listeners {
		for j := range i {
			if conflicts[j] == nil && listeners[i].Port == listeners[j].Port {
				conflicts[i] = conflict(&listeners[i], &listeners[j])
			}
			if conflicts[i] != nil {
				break
			}
		}
	}
	return conflicts
}

func conflict(loser, winner *gwv1.Listener) *refs.Problem {
	switch {
	case loser.Protocol != winner.Protocol:
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonProtocolConflict),
			Message: fmt.Sprintf("listener %s has port %d with protocol %s; give this one another port",
				winner.Name, winner.Port, winner.Protocol),
		}
	case hostname(loser.Hostname) == hostname(winner.Hostname):
		return &refs.Problem{
			Reason: string(gwv1.ListenerReasonHostnameConflict),
			Message: fmt.Sprintf("listener %s has port %d with the same hostname; give this one another hostname or port",
				winner.Name, winner.Port),
		}
	default:
		return nil
	}
}
