package filter

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// HideEnvoy changes the headers of answers as the client policy says, and removes from them what only Envoys tell each other, whether
// this proxy, a backend or a sidecar of the backend wrote it. Every answer passes it last. The router's suppress_envoy_headers is no
// substitute: it leaves what backends write, and takes the path that the client asked for from access logs and spans where a route
// rewrites it.
const HideEnvoy = "envoy.filters.http.header_mutation"

var hideEnvoy = Filter{
	Name: HideEnvoy,
	Listener: func(_ *ir.Port, chain *ir.Chain) (proto.Message, bool) {
		var edits []*mutationv3.HeaderMutation
		headers := chain.Client().Headers
		if !headers.EnvoyHeaders {
			edits = append(edits, RemoveHeaders(ir.StringMatch{Kind: ir.Prefix, Value: ir.EnvoyHeaderPrefix}))
		}
		edits = append(edits, HeaderMutations(headers.Late)...)
		return &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{ResponseMutations: edits}}, len(edits) > 0
	},
}
