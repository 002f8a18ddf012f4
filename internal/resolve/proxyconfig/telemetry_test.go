package proxyconfig_test

import (
	"slices"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/proxyconfig"
)

func TestHeadersOfTelemetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		header  gwv1.HTTPHeader
		message string
	}{
		{"one that is sent", gwv1.HTTPHeader{Name: "X-Tenant", Value: "shop"}, ""},
		{"a name that is none", gwv1.HTTPHeader{Name: "a b", Value: "c"}, "headers: "},
		{"a value with a line break", gwv1.HTTPHeader{Name: "a", Value: "b\nc"}, "the value for header a"},
		{"a value that the proxy would take for a format", gwv1.HTTPHeader{Name: "a", Value: "%DOWNSTREAM_REMOTE_ADDRESS%"}, "per cent sign"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			headers := []gwv1.HTTPHeader{c.header}
			log, ofLog := proxyconfig.AccessLog("accessLogs[0]", v1alpha1.AccessLog{
				Type: v1alpha1.OTLPAccessLog, OTLP: &v1alpha1.OTLPReceiver{Headers: headers},
			})
			tracing, ofTracing := proxyconfig.Tracing(v1alpha1.Tracing{Headers: headers})
			for where, message := range map[string]string{"accessLogs[0].otlp": ofLog, "tracing": ofTracing} {
				if (message == "") != (c.message == "") || !strings.Contains(message, c.message) {
					t.Errorf("%s says %q, want %q", where, message, c.message)
				}
			}
			if want := []ir.Header{{Name: "x-tenant", Value: "shop"}}; c.message == "" &&
				(!slices.Equal(log.Headers, want) || !slices.Equal(tracing.Headers, want)) {
				t.Errorf("logs are sent with %v, spans with %v", log.Headers, tracing.Headers)
			}
		})
	}
}
