package listener_test

import (
	"strings"
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestHeadersOfProxiesAreTakenFromNoClient(t *testing.T) {
	t.Parallel()
	byHost := plain()
	byHost.Chains[0].ByHost = true
	for name, port := range map[string]ir.Port{"one table": plain(), "a scope for each host": byHost} {
		t.Run("with "+name, func(t *testing.T) {
			t.Parallel()
			m := manager(t, listener.Listener(edge, port, nil).GetFilterChains()[0])
			for _, header := range []string{
				"forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix",
				"x-forwarded-client-cert",
				"x-envoy-original-path", "x-envoy-upstream-rq-timeout-ms", "x-envoy-external-address", "x-envoy-something-new",
			} {
				if !removes(t, m, header) {
					t.Errorf("%s of a client is kept", header)
				}
			}
			for _, header := range []string{"x-forwarded", "x-request-id", "x-real-ip", "traceparent", "x-gatewright-hops"} {
				if removes(t, m, header) {
					t.Errorf("%s of a client is removed", header)
				}
			}
			if m.GetXffNumTrustedHops() != 0 || m.GetAppendXForwardedPort() || m.GetSkipXffAppend() {
				t.Errorf("a client is believed, or a port is told that clients may not have used: %v", m)
			}
		})
	}
}

// removes tells whether a connection manager removes a header before it reads any.
func removes(t *testing.T, m *hcmv3.HttpConnectionManager, header string) bool {
	t.Helper()
	for _, extension := range m.GetEarlyHeaderMutationExtensions() {
		early := &earlyv3.HeaderMutation{}
		if err := extension.GetTypedConfig().UnmarshalTo(early); err != nil {
			t.Fatal(err)
		}
		prototest.Valid(t, early)
		for _, mutation := range early.GetMutations() {
			prefix := mutation.GetRemoveOnMatch().GetKeyMatcher().GetPrefix()
			if prefix != "" && strings.HasPrefix(header, prefix) || mutation.GetRemove() == header {
				return true
			}
		}
	}
	return false
}

func TestRequestsHaveIdentities(t *testing.T) {
	t.Parallel()
	m := manager(t, listener.Listener(edge, plain(), nil).GetFilterChains()[0])
	if !m.GetGenerateRequestId().GetValue() || m.GetPreserveExternalRequestId() || !m.GetAlwaysSetRequestIdInResponse() {
		t.Errorf("a client chooses the identity of its request, or is not told it: %v", m)
	}
}
