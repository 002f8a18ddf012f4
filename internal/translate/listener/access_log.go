package listener

import (
	"maps"
	"slices"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	otlpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/open_telemetry/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	stdoutLogger = "envoy.access_loggers.stdout"
	otlpLogger   = "envoy.access_loggers.open_telemetry"
)

// gatewayField tells whose a line is where proxies serve several Gateways, whatever a Gateway has it say.
const gatewayField = "gateway"

// defaultLogs writes one JSON object for each request, or connection, to the proxy's standard output.
var defaultLogs = []ir.AccessLog{{Type: ir.LogJSON}}

// requestFields are what is said of a request.
var requestFields = map[string]string{
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

	"grpc_status":          "%GRPC_STATUS(SNAKE_STRING)%",
	"user_agent":           "%REQ(USER-AGENT)%",
	"x_forwarded_for":      "%REQ(X-FORWARDED-FOR)%",
	"server_name":          "%REQUESTED_SERVER_NAME%",
	"tls_version":          "%DOWNSTREAM_TLS_VERSION%",
	"upstream_duration_ms": "%COMMON_DURATION(US_TX_BEG:US_RX_BEG:ms)%",
	"upstream_failure":     "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
}

// streamFields are what is said of a connection, or of the session of a UDP client, when it ends.
func streamFields(route string) map[string]string {
	return map[string]string{
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
	}
}

// The lines of text that say the same.
const (
	requestLine = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ` +
		`%BYTES_RECEIVED% ` +
		`%BYTES_SENT% %DURATION% "%DOWNSTREAM_REMOTE_ADDRESS%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" "%UPSTREAM_CLUSTER%" "%ROUTE_NAME%" ` +
		`"%REQ(X-REQUEST-ID)%"`
	streamLine = `[%START_TIME%] "%REQUESTED_SERVER_NAME%" %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% ` +
		`"%DOWNSTREAM_REMOTE_ADDRESS%" ` +
		`"%UPSTREAM_HOST%" "%UPSTREAM_CLUSTER%"`
)

// requestLogs writes down the requests of a port.
func requestLogs(port ir.Port) []*accesslogv3.AccessLog {
	return logs(port, func(log ir.AccessLog) line {
		l := line{fields: requestFields, text: requestLine}
		if len(log.Fields) > 0 {
			l.fields = log.Fields
		}
		if log.Format != "" {
			l.text = log.Format
		}
		l.only = fromStatus(log.MinimumStatus)
		return l
	})
}

// streamLogs writes down the connections of a port, all of them: they have no status.
func streamLogs(port ir.Port, route string) []*accesslogv3.AccessLog {
	return logs(port, func(ir.AccessLog) line { return line{fields: streamFields(route), text: streamLine} })
}

// line is what is said, in either form.
type line struct {
	fields map[string]string
	text   string
	// only chooses what is written down, nil for all.
	only *accesslogv3.AccessLogFilter
}

func logs(port ir.Port, say func(ir.AccessLog) line) []*accesslogv3.AccessLog {
	wanted := port.Logs
	if wanted == nil {
		wanted = defaultLogs
	}
	var all []*accesslogv3.AccessLog
	for _, log := range wanted {
		l := say(log)
		if port.LoggedAs != "" {
			l.fields = maps.Clone(l.fields)
			l.fields[gatewayField] = port.LoggedAs
		}
		all = append(all, accessLog(log, l))
	}
	return all
}

func accessLog(log ir.AccessLog, l line) *accesslogv3.AccessLog {
	if log.Type == ir.LogOTLP {
		return otlpLog(log, l)
	}
	format := &corev3.SubstitutionFormatString{Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: jsonLine(l.fields)}}
	if log.Type == ir.LogText {
		format.Format = &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: l.text + "\n"},
		}}
	}
	return &accesslogv3.AccessLog{
		Name:   stdoutLogger,
		Filter: l.only,
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: wire.Any(&streamv3.StdoutAccessLog{
			AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: format},
		})},
	}
}

// otlpLog sends records whose attributes are the fields, in the order of their names.
func otlpLog(log ir.AccessLog, l line) *accesslogv3.AccessLog {
	attributes := &commonv1.KeyValueList{}
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		attributes.Values = append(attributes.Values, &commonv1.KeyValue{
			Key: name, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: l.fields[name]}},
		})
	}
	return &accesslogv3.AccessLog{
		Name:   otlpLogger,
		Filter: l.only,
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: wire.Any(&otlpv3.OpenTelemetryAccessLogConfig{
			LogName:     "gatewright",
			GrpcService: collector(log.Backend, log.Headers),
			Attributes:  attributes,
		})},
	}
}

func jsonLine(fields map[string]string) *structpb.Struct {
	line := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(fields))}
	for key, format := range fields {
		line.Fields[key] = structpb.NewStringValue(format)
	}
	return line
}
