package gateway

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// markOverlaps tells each listener with TLS which others of its port have a hostname in common with it. GEP-3567: a client may use one
// connection for both.
func markOverlaps(listeners []Listener) {
	for i := range listeners {
		l := &listeners[i]
		var others []string
		for j := range listeners {
			if i != j && overlap(l, &listeners[j]) {
				others = append(others, listeners[j].seenFrom(l))
			}
		}
		if len(others) == 0 {
			continue
		}
		others = slices.Compact(others)
		l.Conditions = append(l.Conditions, outcome.Condition{
			Type: string(gwv1.ListenerConditionOverlappingTLSConfig), State: outcome.True,
			Reason: string(gwv1.ListenerReasonOverlappingHostnames),
			Message: fmt.Sprintf("hostnames overlap with those of %s: a client may use one connection for both, and HTTP requests that come by the wrong one are answered 421",
				some(others)),
		})
	}
}

// seenFrom names the listener to whoever reads the conditions of another, with the care that [entry.seenFrom] takes too.
func (l *Listener) seenFrom(other *Listener) string {
	namespace, _, _ := strings.Cut(l.Set, "/")
	if l.Set == "" || other.Set == "" || namespace == other.Namespaces.Home {
		return l.ID
	}
	return "another ListenerSet"
}

// some names the first few.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func overlap(a, b *Listener) bool {
	return a.Accepted && b.Accepted && a.Protocol.ChoosesByName() && b.Protocol.ChoosesByName() && a.Port == b.Port &&
		(within(a.Hostname, b.Hostname) || within(b.Hostname, a.Hostname))
}

// within says whether every name a hostname stands for is also one of the other's.
func within(hostname, other string) bool {
	suffix, wildcard := strings.CutPrefix(other, "*")
	return other == "" || hostname == other || (wildcard && strings.HasSuffix(hostname, suffix))
}
