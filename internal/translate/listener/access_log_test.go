package listener_test

import (
	"slices"
	"strings"
	"testing"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	otlpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/open_telemetry/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// logsOf are the access logs of a port that writes these.
func logsOf(t *testing.T, logs []ir.AccessLog) []*accesslogv3.AccessLog {
	t.Helper()
	port := plain()
	port.Logs = logs
	return manager(t, listener.Listener(edge, port, nil).GetFilterChains()[0]).GetAccessLog()
}

func stdout(t *testing.T, log *accesslogv3.AccessLog) *streamv3.StdoutAccessLog {
	t.Helper()
	written := &streamv3.StdoutAccessLog{}
	if err := log.GetTypedConfig().UnmarshalTo(written); err != nil {
		t.Fatal(err)
	}
	return written
}

func TestAccessLogs(t *testing.T) {
	t.Parallel()
	t.Run("JSON is the default", func(t *testing.T) {
		t.Parallel()
		logs := logsOf(t, nil)
		if len(logs) != 1 || stdout(t, logs[0]).GetLogFormat().GetJsonFormat().GetFields()["status"].GetStringValue() != "%RESPONSE_CODE%" {
			t.Errorf("got %v", logs)
		}
	})
	t.Run("an empty list writes nothing", func(t *testing.T) {
		t.Parallel()
		if logs := logsOf(t, []ir.AccessLog{}); len(logs) != 0 {
			t.Errorf("got %v", logs)
		}
	})
	t.Run("fields of JSON are those asked for", func(t *testing.T) {
		t.Parallel()
		logs := logsOf(t, []ir.AccessLog{{Type: ir.LogJSON, Fields: map[string]string{"code": "%RESPONSE_CODE%"}, MinimumStatus: 400}})
		fields := stdout(t, logs[0]).GetLogFormat().GetJsonFormat().GetFields()
		if len(fields) != 1 || fields["code"].GetStringValue() != "%RESPONSE_CODE%" {
			t.Errorf("got %v", logs)
		}
	})
	t.Run("text is a line", func(t *testing.T) {
		t.Parallel()
		logs := logsOf(t, []ir.AccessLog{{Type: ir.LogText, Format: "%RESPONSE_CODE%"}, {Type: ir.LogText}})
		if got := stdout(t, logs[0]).GetLogFormat().GetTextFormatSource().GetInlineString(); got != "%RESPONSE_CODE%\n" {
			t.Errorf("got %q", got)
		}
		if got := stdout(t, logs[1]).GetLogFormat().GetTextFormatSource().GetInlineString(); !strings.HasPrefix(got, "[%START_TIME%]") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("OTLP is sent to its backend", func(t *testing.T) {
		t.Parallel()
		logs := logsOf(t, []ir.AccessLog{{Type: ir.LogOTLP, Backend: named("shop/collector/4317/http2")}})
		sent := &otlpv3.OpenTelemetryAccessLogConfig{}
		if err := logs[0].GetTypedConfig().UnmarshalTo(sent); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, attribute := range sent.GetAttributes().GetValues() {
			names = append(names, attribute.GetKey())
		}
		if sent.GetGrpcService().GetEnvoyGrpc().GetClusterName() != "shop/collector/4317/http2" || !slices.IsSorted(names) ||
			!slices.Contains(names, "status") {
			t.Errorf("got %v", sent)
		}
	})
}

func TestHeadersOfAccessLogs(t *testing.T) {
	t.Parallel()
	logs := logsOf(t, []ir.AccessLog{{
		Type: ir.LogOTLP, Backend: named("shop/collector/4317/http2"), Headers: []ir.Header{{Name: "x-tenant", Value: "shop"}},
	}})
	sent := &otlpv3.OpenTelemetryAccessLogConfig{}
	if err := logs[0].GetTypedConfig().UnmarshalTo(sent); err != nil {
		t.Fatal(err)
	}
	headers := sent.GetGrpcService().GetInitialMetadata()
	if len(headers) != 1 || headers[0].GetKey() != "x-tenant" || headers[0].GetValue() != "shop" {
		t.Errorf("sent with headers %v", headers)
	}
}

func TestMinimumStatusKeepsFailedCalls(t *testing.T) {
	t.Parallel()
	either := logsOf(t, []ir.AccessLog{{Type: ir.LogJSON, MinimumStatus: 400}})[0].GetFilter().GetOrFilter().GetFilters()
	if len(either) != 2 || either[0].GetStatusCodeFilter().GetComparison().GetValue().GetDefaultValue() != 400 {
		t.Fatalf("got %v", either)
	}
	call := either[1].GetAndFilter().GetFilters()
	if len(call) != 2 || call[0].GetHeaderFilter().GetHeader().GetStringMatch().GetPrefix() != "application/grpc" ||
		!call[1].GetGrpcStatusFilter().GetExclude() {
		t.Errorf("calls of gRPC that fail are answered 200, and left out: %v", call)
	}
}

func TestFailedConnectionsAreWrittenDown(t *testing.T) {
	t.Parallel()
	l := listener.Listener(edge, secure(), nil)
	prototest.Valid(t, l)
	if len(l.GetAccessLog()) != 1 || l.GetAccessLog()[0].GetFilter() == nil {
		t.Fatalf("a port with TLS logs %v", l.GetAccessLog())
	}
	fields := stdout(t, l.GetAccessLog()[0]).GetLogFormat().GetJsonFormat().GetFields()
	if fields["tls_failure"].GetStringValue() != "%DOWNSTREAM_TRANSPORT_FAILURE_REASON%" {
		t.Errorf("it says %v", fields)
	}
	if log := listener.Listener(edge, plain(), nil).GetAccessLog(); log != nil {
		t.Errorf("a port without TLS logs %v", log)
	}
	quiet := secure()
	quiet.Logs = []ir.AccessLog{}
	if log := listener.Listener(edge, quiet, nil).GetAccessLog(); log != nil {
		t.Errorf("without access logs there is %v", log)
	}
}

func TestSharedProxiesWriteWhoseALineIs(t *testing.T) {
	t.Parallel()
	port := plain()
	port.LoggedAs = "infra/edge"
	port.Logs = []ir.AccessLog{
		{Type: ir.LogJSON},
		{Type: ir.LogJSON, Fields: map[string]string{"gateway": "infra/other", "code": "%RESPONSE_CODE%"}},
	}
	for _, log := range manager(t, listener.Listener(edge, port, nil).GetFilterChains()[0]).GetAccessLog() {
		if got := stdout(t, log).GetLogFormat().GetJsonFormat().GetFields()["gateway"].GetStringValue(); got != "infra/edge" {
			t.Errorf("the line is from %q", got)
		}
	}
	if _, said := stdout(t, logsOf(t, nil)[0]).GetLogFormat().GetJsonFormat().GetFields()["gateway"]; said {
		t.Error("proxies of one Gateway say it too")
	}
}

func TestConnectionsAreAllWrittenDown(t *testing.T) {
	t.Parallel()
	port := ir.Port{
		Number: 5432, Protocol: ir.TCP, Chains: []ir.Chain{{Name: "tcp", Stream: &ir.Stream{Route: "a/b"}}},
		Logs: []ir.AccessLog{{Type: ir.LogJSON, Fields: map[string]string{"code": "%RESPONSE_CODE%"}, MinimumStatus: 400}},
	}
	proxy := &tcpv3.TcpProxy{}
	if err := listener.Listener(edge, port, nil).GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(proxy); err != nil {
		t.Fatal(err)
	}
	log := proxy.GetAccessLog()[0]
	if log.GetFilter() != nil || stdout(t, log).GetLogFormat().GetJsonFormat().GetFields()["route"].GetStringValue() != "a/b" {
		t.Errorf("got %v", log)
	}
}
