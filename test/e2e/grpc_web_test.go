//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/live"
)

// emptyMessage is how gRPC sends a message without content.
var emptyMessage = []byte{0, 0, 0, 0, 0}

// serveGRPC makes a Service whose calls the test itself answers, each with an empty message. In a header it says which content type it saw.
func (w *fixture) serveGRPC(t *testing.T, name string) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	handler := func(response http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		content := request.Header.Get("Content-Type")
		response.Header().Set("X-Content", content)
		if !strings.HasPrefix(content, "application/grpc") {
			return
		}
		response.Header().Set("Content-Type", content)
		response.Header().Set("Trailer", "Grpc-Status")
		_, _ = response.Write(emptyMessage)
		response.Header().Set("Grpc-Status", "0")
	}
	server := &http.Server{Protocols: protocols, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(handler)}
	listener := w.ListenHere(t, name)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// TestGRPCWeb calls a GRPCRoute as browsers do, and with other content; an HTTPRoute sees gRPC-Web as it is.
func TestGRPCWeb(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.serveGRPC(t, "grpc")
	address := w.Gateway(t, "gateway")
	w.Make(t, grpcRoute("calls", "grpc-web.example.com", grpcRule("a.B", "grpc")))
	w.Route(t, "plain", "gateway", "*.plain.example.com", "grpc")
	for _, c := range []struct{ host, content, saw string }{
		{"grpc-web.example.com", "application/grpc-web+proto", "application/grpc"},
		{"GRPC-Web.example.com", "application/grpc-web+proto", "application/grpc"},
		{"grpc-web.example.com", "application/json", "application/json"},
		{"any.plain.example.com", "application/grpc-web+proto", "application/grpc-web+proto"},
	} {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/a.B/C", strings.NewReader(string(emptyMessage)))
			if err != nil {
				return err
			}
			request.Host = c.host
			request.Header.Set("Content-Type", c.content)
			response, err := w.HTTP.Do(request)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			if response.StatusCode != http.StatusOK || response.Header.Get("X-Content") != c.saw {
				return fmt.Errorf("%s %s: %s, the backend saw %q", c.host, c.content, response.Status, response.Header.Get("X-Content"))
			}
			if c.saw == "application/grpc" && !strings.Contains(string(body), "grpc-status:0") {
				return fmt.Errorf("%s %s: the body has no trailers: %q", c.host, c.content, body)
			}
			return nil
		})
	}
}
