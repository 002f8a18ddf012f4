package gateway

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// filterRoom is for a filter of a listener without its headers, and nameRoom for what a name takes beside its letters.
	filterRoom = 2 << 10
	nameRoom   = 80
	// filterStep is the step in which the bytes of filters are counted. What depends on them need not change with each edit.
	filterStep = 1 << 10
)

// FilterBytes is about how many bytes the filters of a listener take of each of its virtual hosts, 0 without any.
func FilterBytes(filters []ir.ListenerFilter) int {
	bytes := 0
	for i := range filters {
		bytes += filterRoom
		if auth := filters[i].Auth; auth != nil {
			for _, name := range slices.Concat(auth.RequestHeaders, auth.ResponseHeaders) {
				// The first filter removes what clients send in the headers of all.
				bytes += 2 * (nameRoom + len(name))
			}
		}
		if server := filters[i].ExtProc; server != nil {
			for _, text := range slices.Concat(server.Accessible, server.Writable) {
				bytes += nameRoom + len(text)
			}
		}
	}
	return (bytes + filterStep - 1) / filterStep * filterStep
}
