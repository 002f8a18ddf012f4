package pipeline

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// TestEveryPolicyIsPublished looks for the outcomes of each kind with a status but those that have their own way.
func TestEveryPolicyIsPublished(t *testing.T) {
	t.Parallel()
	published := newGraph().policyOutcomes
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

// TestAChainThatFailsClosedNeedsNothing: Envoy asks for neither its routes nor its certificates, so waiting for them would never end.
func TestAChainThatFailsClosedNeedsNothing(t *testing.T) {
	t.Parallel()
	table := ir.TableID{Gateway: "default/edge", Port: 443}
	port := ir.Port{Chains: []ir.Chain{
		{RouteTable: table, Certificates: []string{"default/closed"}, Policy: &ir.ClientPolicy{FailClosed: true}},
		{ByHost: true, RouteTable: table, Policy: &ir.ClientPolicy{FailClosed: true}},
		{RouteTable: table, Certificates: []string{"default/open"}, Policy: &ir.ClientPolicy{}},
	}}
	tables, secrets, scopes := listenerNeeds(port)
	if !slices.Equal(tables, []string{table.String()}) || !slices.Equal(secrets, []string{"default/open"}) || scopes {
		t.Errorf("needs tables %q, secrets %q, scopes %v", tables, secrets, scopes)
	}
}

// TestAListenerNeedsTheAuthoritiesOfItsClients: it does not serve before it has them. Fields of the standard win over policies.
func TestAListenerNeedsTheAuthoritiesOfItsClients(t *testing.T) {
	t.Parallel()
	own := &ir.ClientValidation{Authorities: "own"}
	policy := &ir.ClientPolicy{TLS: ir.ClientTLS{Clients: &ir.ClientValidation{Authorities: "policy"}}}
	for _, c := range []struct {
		chain ir.Chain
		want  []string
	}{
		{ir.Chain{Certificates: []string{"a"}, Clients: own}, []string{"a", "own"}},
		{ir.Chain{Certificates: []string{"a"}, Policy: policy}, []string{"a", "policy"}},
		{ir.Chain{Certificates: []string{"a"}, Clients: own, Policy: policy}, []string{"a", "own"}},
		{ir.Chain{Certificates: []string{"a"}, Clients: &ir.ClientValidation{Optional: true}}, []string{"a"}},
		{ir.Chain{Clients: own, Policy: policy}, nil},
	} {
		if _, got, _ := listenerNeeds(ir.Port{Chains: []ir.Chain{c.chain}}); !slices.Equal(got, c.want) {
			t.Errorf("%+v needs secrets %q, want %q", c.chain, got, c.want)
		}
	}
}
