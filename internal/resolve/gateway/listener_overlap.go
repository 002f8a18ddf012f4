package gateway

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
)

// markOverlaps tells each listener with TLS which others of its port have a hostname in common with it. GEP-3567: a client may use one
// connection for both.
func markOverlaps(listeners []Listener) {
	for i, others := range findOverlaps(listeners) {
		if len(others) == 0 {
			continue
		}
		slices.Sort(others)
		var names []string
		for _, j := range slices.Compact(others) {
			names = append(names, listeners[j].nameFor(&listeners[i]))
		}
		listeners[i].Conditions = append(listeners[i].Conditions, outcome.Condition{
			Type: string(gwv1.ListenerConditionOverlappingTLSConfig), State: outcome.True,
			Reason: string(gwv1.ListenerReasonOverlappingHostnames),
			Message: fmt.Sprintf("hostnames overlap with those of %s: a client may use one connection for both", some(slices.Compact(names))) +
				misdirected(listeners, i, others),
		})
	}
}

// misdirected says what becomes of a request that comes by a listener, and is for the hostname of another that overlaps with it. Only
// HTTPS listeners have hosts of their own, by which it is found.
func misdirected(listeners []Listener, i int, others []int) string {
	if listeners[i].Protocol != ir.HTTPS {
		return ", and a TLS listener does not see which hostname a request is for"
	}
	text := ""
	if slices.ContainsFunc(others, func(j int) bool { return listeners[j].Protocol == ir.HTTPS }) {
		text += ", and HTTP requests that come by the wrong one are answered 421"
	}
	if slices.ContainsFunc(others, func(j int) bool { return listeners[j].Protocol != ir.HTTPS }) {
		text += "; HTTP requests that come by this one are its own, also those for a hostname of a TLS listener"
	}
	return text
}

// findOverlaps lists for each listener the others it has a hostname in common with. Two hostnames have when one covers the other, so it is
// enough to look each one up among those that could cover it.
func findOverlaps(listeners []Listener) [][]int {
	type place struct {
		port     int32
		hostname string
	}
	at := map[place][]int{}
	for i, l := range listeners {
		if l.Accepted && l.Protocol.ChoosesByName() {
			at[place{l.Port, l.Hostname}] = append(at[place{l.Port, l.Hostname}], i)
		}
	}
	overlaps := make([][]int, len(listeners))
	for i, l := range listeners {
		if !l.Accepted || !l.Protocol.ChoosesByName() {
			continue
		}
		for _, hostname := range covering(l.Hostname) {
			for _, j := range at[place{l.Port, hostname}] {
				if i != j {
					overlaps[i], overlaps[j] = append(overlaps[i], j), append(overlaps[j], i)
				}
			}
		}
	}
	return overlaps
}

// covering lists the hostnames a listener could have that stand for every name this one stands for, itself first.
func covering(hostname string) []string {
	if hostname == "" {
		return []string{""}
	}
	list := []string{hostname}
	rest := strings.TrimPrefix(hostname, "*.")
	for {
		_, suffix, found := strings.Cut(rest, ".")
		if !found {
			return append(list, "")
		}
		list, rest = append(list, "*."+suffix), suffix
	}
}

// nameFor names the listener to a reader of the conditions of another, with the care that [entry.nameFor] takes too.
func (l *Listener) nameFor(other *Listener) string {
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
