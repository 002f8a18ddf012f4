package listener

import (
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tracingv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// spans has the requests of a port become spans of OpenTelemetry.
func spans(port ir.Port, t *ir.Tracing) *hcmv3.HttpConnectionManager_Tracing {
	if t == nil {
		return nil
	}
	config := &tracev3.OpenTelemetryConfig{GrpcService: collector(t.Backend, t.Headers), ServiceName: t.Service, Sampler: sampler(t)}
	tracing := &hcmv3.HttpConnectionManager_Tracing{
		Operation: t.Span,
		Provider: &tracev3.Tracing_Http{
			Name:       "envoy.tracers.opentelemetry",
			ConfigType: &tracev3.Tracing_Http_TypedConfig{TypedConfig: wire.Any(config)},
		},
	}
	for _, a := range t.Attributes {
		tracing.CustomTags = append(tracing.CustomTags, tag(port, a))
	}
	return tracing
}

// collector receives OTLP, with these headers.
func collector(backend ir.Backend, headers []ir.Header) *corev3.GrpcService {
	service := &corev3.GrpcService{
		TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: backend.String()}},
	}
	for _, h := range headers {
		service.InitialMetadata = append(service.InitialMetadata, &corev3.HeaderValue{Key: h.Name, Value: h.Value})
	}
	return service
}

func tag(port ir.Port, a ir.SpanAttribute) *tracingv3.CustomTag {
	custom := &tracingv3.CustomTag{Tag: a.Name}
	switch {
	case a.Literal != "":
		custom.Type = &tracingv3.CustomTag_Literal_{Literal: &tracingv3.CustomTag_Literal{Value: a.Literal}}
	case a.Header != "":
		custom.Type = &tracingv3.CustomTag_RequestHeader{RequestHeader: &tracingv3.CustomTag_Header{Name: a.Header}}
	default:
		known := lookup(port, a.Key)
		custom.Type = &tracingv3.CustomTag_Value{Value: known.format}
		if known.number {
			custom.ValueType = tracingv3.CustomTag_INT
		}
	}
	return custom
}

// spanValue is how Envoy tells what an attribute asks for. What it does not know of a request is left out of the span.
type spanValue struct {
	format string
	number bool
}

// serverPort is what the client asked for, wherever the proxies listen for it.
const serverPort = "server.port"

// spanValues has each of [ir.SpanKeys], but for the one that depends on the port.
var spanValues = map[string]spanValue{
	"client.address":               {format: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"},
	"client.port":                  {format: "%DOWNSTREAM_REMOTE_PORT%", number: true},
	"http.request.method":          {format: "%REQ(:METHOD)%"},
	"http.request.method_original": {format: "%REQ(:METHOD)%"},
	"http.response.status_code":    {format: "%RESPONSE_CODE%", number: true},
	"network.peer.address":         {format: "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%"},
	"network.peer.port":            {format: "%DOWNSTREAM_DIRECT_REMOTE_PORT%", number: true},
	"network.protocol.name":        {format: "http"},
	"network.protocol.version":     {format: `%CEL(re.extract(request.protocol, 'HTTP/(.*)', '\\1'))%`},
	"network.transport":            {format: "tcp"},
	"server.address":               {format: `%CEL(re.extract(request.host, '^([^:]*)', '\\1'))%`},
	"url.full":                     {format: "%REQ(:SCHEME)%://%REQ(:AUTHORITY)%%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%"},
	"url.path":                     {format: "%PATH(NQ)%"},
	"url.query":                    {format: "%QUERY_PARAMS(ORIG)%"},
	"url.scheme":                   {format: "%REQ(:SCHEME)%"},
	"user_agent.original":          {format: "%REQ(USER-AGENT)%"},
}

func lookup(port ir.Port, key string) spanValue {
	if key == serverPort {
		return spanValue{format: strconv.Itoa(int(port.Number)), number: true}
	}
	if name, ok := strings.CutPrefix(key, ir.RequestHeaderKey); ok {
		return spanValue{format: "%REQ(" + name + ")%"}
	}
	if name, ok := strings.CutPrefix(key, ir.ResponseHeaderKey); ok {
		return spanValue{format: "%RESP(" + name + ")%"}
	}
	return spanValues[key]
}
