package listener

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	celv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/filters/cel/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// fromStatus lets answers of a status and above be written down, and calls of gRPC that failed: the status of their answers is 200.
// Zero is for all.
func fromStatus(status uint32) *accesslogv3.AccessLogFilter {
	if status == 0 {
		return nil
	}
	answered := &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_StatusCodeFilter{
		StatusCodeFilter: &accesslogv3.StatusCodeFilter{Comparison: &accesslogv3.ComparisonFilter{
			Op:    accesslogv3.ComparisonFilter_GE,
			Value: &corev3.RuntimeUInt32{DefaultValue: status, RuntimeKey: "gatewright.access_log_minimum_status"},
		}},
	}}
	return anyFilter(answered, failedCall)
}

// failedCall is a call of gRPC whose status is not OK. The content type is needed: to Envoy's filter a request of any other kind has
// failed.
var failedCall = &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{AndFilter: &accesslogv3.AndFilter{
	Filters: []*accesslogv3.AccessLogFilter{
		{FilterSpecifier: &accesslogv3.AccessLogFilter_HeaderFilter{HeaderFilter: &accesslogv3.HeaderFilter{Header: &routev3.HeaderMatcher{
			Name: "content-type",
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "application/grpc"},
			}},
		}}}},
		{FilterSpecifier: &accesslogv3.AccessLogFilter_GrpcStatusFilter{GrpcStatusFilter: &accesslogv3.GrpcStatusFilter{
			Statuses: []accesslogv3.GrpcStatusFilter_Status{accesslogv3.GrpcStatusFilter_OK}, Exclude: true,
		}}},
	},
}}}

// failedConnection is one that no chain serves, or whose TLS failed: a handshake with no common version, a client certificate that is
// refused, plain text, a client that stops in the middle. All are looked at once, when a connection ends.
var failedConnection = anyFilter(
	&accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
		ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: []string{"NR"}},
	}},
	&accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ExtensionFilter{ExtensionFilter: &accesslogv3.ExtensionFilter{
		Name: "envoy.access_loggers.extension_filters.cel",
		ConfigType: &accesslogv3.ExtensionFilter_TypedConfig{TypedConfig: wire.Any(&celv3.ExpressionFilter{
			Expression: "connection.transport_failure_reason != '' || connection.termination_details != ''",
		})},
	}}},
)

func anyFilter(filters ...*accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	either := &accesslogv3.OrFilter{Filters: filters}
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_OrFilter{OrFilter: either}}
}
