package route

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	grpcwebv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/grpc_web/v3"

	"github.com/gatewright/gatewright/internal/translate/filter"
)

// grpcWeb has a virtual host take gRPC-Web, which is gRPC as browsers can send it. It does nothing to other requests.
func grpcWeb(vh *routev3.VirtualHost) {
	vh.TypedPerFilterConfig = configured(vh.TypedPerFilterConfig, filter.GRPCWeb, runs("envoy.filters.http.grpc_web", &grpcwebv3.GrpcWeb{}))
}
