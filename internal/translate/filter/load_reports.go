package filter

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// LoadReports removes what endpoints report of their load from responses, and does nothing for a backend whose clients may see it. The
// router has told the load balancer by then. A route's own list of headers to remove is no substitute: gRPC servers report in trailers.
const LoadReports = "gatewright.load_reports"

var loadReports = Filter{
	Name: LoadReports, OnDemand: true,
	Listener: everywhere(&headermutationv3.HeaderMutation{}),
	Backend: func(backend *ir.WeightedBackend) (proto.Message, bool) {
		return withoutReports, backend.HideReports
	},
}

var withoutReports = func() *headermutationv3.HeaderMutationPerRoute {
	var removed []*mutationv3.HeaderMutation
	// The names that Envoy knows, see source/common/orca/orca_parser.h.
	for _, name := range []string{"endpoint-load-metrics", "endpoint-load-metrics-bin"} {
		removed = append(removed, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	return &headermutationv3.HeaderMutationPerRoute{
		Mutations: &headermutationv3.Mutations{ResponseMutations: removed, ResponseTrailersMutations: removed},
	}
}()
