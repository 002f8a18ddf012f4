package filter

import (
	"slices"

	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	grpcwebv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/grpc_web/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// GRPCWeb makes gRPC of gRPC-Web, which is gRPC as browsers can send it, for virtual hosts with rules for gRPC. It does nothing to other
// requests. A composite filter runs it, because it has no per-route configuration and would do so for every host.
const GRPCWeb = "gatewright.grpc_web"

var grpcWeb = Filter{
	Name: GRPCWeb, OnDemand: true,
	Listener: everywhere(&compositev3.Composite{}),
	VirtualHost: func(host *ir.VirtualHost) (proto.Message, bool) {
		if !slices.ContainsFunc(host.Rules, func(r ir.Rule) bool { return r.Match.GRPC }) {
			return nil, false
		}
		return runs(GRPCWebEverywhere, &grpcwebv3.GrpcWeb{}), true
	},
}

// GRPCWebEverywhere does the same for every virtual host, where the client policy asks for it.
const GRPCWebEverywhere = "envoy.filters.http.grpc_web"

var grpcWebEverywhere = Filter{
	Name: GRPCWebEverywhere,
	Listener: func(_ *ir.Port, chain *ir.Chain) (proto.Message, bool) {
		return &grpcwebv3.GrpcWeb{}, chain.Client().GRPCWeb
	},
}
