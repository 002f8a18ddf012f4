package listener_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/translate/listener"
)

func TestOldClientsAreServed(t *testing.T) {
	t.Parallel()
	options := manager(t, listener.Listener(edge, plain(), nil).GetFilterChains()[0]).GetHttpProtocolOptions()
	if !options.GetAcceptHttp_10() || !strings.HasSuffix(options.GetDefaultHostForHttp_10(), ".invalid") {
		t.Errorf("HTTP/1.0 is refused, or a real host stands in for a missing one: %v", options)
	}
	ignored := options.GetIgnoreHttp_11Upgrade()
	if len(ignored) != 1 || ignored[0].GetPrefix() != "TLS/" || !ignored[0].GetIgnoreCase() {
		t.Errorf("an offer to switch to TLS is not ignored, or others are: %v", ignored)
	}
	if options.GetOverrideStreamErrorOnInvalidHttpMessage().GetValue() || options.GetEnableTrailers() || options.GetAllowChunkedLength() {
		t.Errorf("invalid messages are served: %v", options)
	}
}

func TestHTTP2Limits(t *testing.T) {
	t.Parallel()
	options := manager(t, listener.Listener(edge, plain(), nil).GetFilterChains()[0]).GetHttp2ProtocolOptions()
	stream, connection := options.GetInitialStreamWindowSize().GetValue(), options.GetInitialConnectionWindowSize().GetValue()
	if stream < 256<<10 || connection < 16*stream {
		t.Errorf("windows are %d for a stream and %d for a connection", stream, connection)
	}
	if streams := options.GetMaxConcurrentStreams().GetValue(); streams != 1024 {
		t.Errorf("a connection has %d streams at most", streams)
	}
	if !options.GetOverrideStreamErrorOnInvalidHttpMessage().GetValue() {
		t.Error("one invalid request ends the requests of others")
	}
}

func TestHandshakesEnd(t *testing.T) {
	t.Parallel()
	for _, chain := range listener.Listener(edge, secure(), nil).GetFilterChains() {
		if limit := chain.GetTransportSocketConnectTimeout().AsDuration().Seconds(); limit != 10 {
			t.Errorf("a handshake on chain %q may take %v s", chain.GetName(), limit)
		}
	}
	if chain := listener.Listener(edge, plain(), nil).GetFilterChains()[0]; chain.GetTransportSocketConnectTimeout() != nil {
		t.Error("plain text has a limit for handshakes")
	}
}
