package listener

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

const stdoutLogger = "envoy.access_loggers.stdout"

// accessLogs writes one JSON object for each request to the proxy's standard output.
var accessLogs = toStdout(map[string]string{
	"time":             "%START_TIME%",
	"method":           "%REQ(:METHOD)%",
	"path":             "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
	"authority":        "%REQ(:AUTHORITY)%",
	"protocol":         "%PROTOCOL%",
	"status":           "%RESPONSE_CODE%",
	"details":          "%RESPONSE_CODE_DETAILS%",
	"response_flags":   "%RESPONSE_FLAGS%",
	"bytes_received":   "%BYTES_RECEIVED%",
	"bytes_sent":       "%BYTES_SENT%",
	"duration_ms":      "%DURATION%",
	"client":           "%DOWNSTREAM_REMOTE_ADDRESS%",
	"upstream_host":    "%UPSTREAM_HOST%",
	"upstream_cluster": "%UPSTREAM_CLUSTER%",
	"route":            "%ROUTE_NAME%",
	"request_id":       "%REQ(X-REQUEST-ID)%",
})

// streamLogs writes one JSON object for each connection, or session of a UDP client, when it ends.
func streamLogs(route string) []*accesslogv3.AccessLog {
	return toStdout(map[string]string{
		"time":             "%START_TIME%",
		"server_name":      "%REQUESTED_SERVER_NAME%",
		"response_flags":   "%RESPONSE_FLAGS%",
		"bytes_received":   "%BYTES_RECEIVED%",
		"bytes_sent":       "%BYTES_SENT%",
		"duration_ms":      "%DURATION%",
		"client":           "%DOWNSTREAM_REMOTE_ADDRESS%",
		"upstream_host":    "%UPSTREAM_HOST%",
		"upstream_cluster": "%UPSTREAM_CLUSTER%",
		"route":            route,
	})
}

func toStdout(fields map[string]string) []*accesslogv3.AccessLog {
	return []*accesslogv3.AccessLog{{
		Name: stdoutLogger,
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: wire.Any(&streamv3.StdoutAccessLog{
			AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
				Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: jsonLine(fields)},
			}},
		})},
	}}
}

func jsonLine(fields map[string]string) *structpb.Struct {
	line := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(fields))}
	for key, format := range fields {
		line.Fields[key] = structpb.NewStringValue(format)
	}
	return line
}
