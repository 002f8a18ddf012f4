package pipeline

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/store"
)

// TestEveryPolicyIsPublished looks for the outcomes of each kind with a status but those that have their own way.
func TestEveryPolicyIsPublished(t *testing.T) {
	t.Parallel()
	published := newGraph().policyOutcomes()
	for _, kind := range store.Kinds {
		if kind.Status == nil {
			continue
		}
		switch kind.Kind {
		case store.GatewayClass, store.Gateway, store.ListenerSet,
			store.HTTPRoute, store.GRPCRoute, store.TLSRoute, store.TCPRoute, store.UDPRoute:
		default:
			if !slices.ContainsFunc(published, func(p policyOutcomes) bool { return p.kind == kind.Kind }) {
				t.Errorf("nothing is said about a %s", kind.Kind)
			}
		}
	}
}
