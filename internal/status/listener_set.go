package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// ListenerSet returns the status of a ListenerSet whose Gateway is ours. Conditions of others are kept. It is idempotent.
func ListenerSet(existing gwv1.ListenerSetStatus, o outcome.ListenerSet, now metav1.Time) gwv1.ListenerSetStatus {
	at := observation{o.Generation, now}
	status := existing
	status.Conditions = mergeConditions(existing.Conditions, o.Conditions, setTypes, at)
	status.Listeners = listenerEntries(existing.Listeners, o.Listeners, at)
	return status
}

// listenerEntries converts the entries from those of a Gateway's listeners, which have the same fields.
func listenerEntries(stored []gwv1.ListenerEntryStatus, wanted []outcome.Listener, at observation) []gwv1.ListenerEntryStatus {
	known := make([]gwv1.ListenerStatus, len(stored))
	for i, entry := range stored {
		known[i] = gwv1.ListenerStatus(entry)
	}
	merged := listeners(known, wanted, at)
	entries := make([]gwv1.ListenerEntryStatus, len(merged))
	for i, status := range merged {
		entries[i] = gwv1.ListenerEntryStatus(status)
	}
	return entries
}
