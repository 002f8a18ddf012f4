//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// TestAccessLogs: the default line tells who asked and what became of a call of gRPC, a log of failures has calls that failed, and a
// format can have any command that is served.
func TestAccessLogs(t *testing.T) {
	t.Parallel()
	const host = "logged.example.com"
	w := newFixture(t)
	w.ServeHere(t, "here", func(rw http.ResponseWriter, r *http.Request) {
		if status := r.Header.Get("X-Want"); status != "" {
			rw.Header().Set("Content-Type", "application/grpc")
			rw.Header().Set("Grpc-Status", status)
		}
		_, _ = rw.Write([]byte(`{}`))
	})
	gateway, config := live.GatewayWith("logged", v1alpha1.ProxyConfigSpec{AccessLogs: []v1alpha1.AccessLog{
		{Type: v1alpha1.JSONAccessLog},
		{
			Type: v1alpha1.TextAccessLog, MinimumStatus: new(int32(400)),
			Format: new(v1alpha1.LogFormat("failed %REQ(x-mark)% %GRPC_STATUS_NUMBER% %PATH(NQ)% %QUERY_PARAM(page)% %START_TIME(%Y)%")),
		},
	}})
	w.Make(t, config)
	address := w.Programmed(t, gateway)
	w.Route(t, "route", "logged", host, "here")
	w.WaitServed(t, address, host)

	const request = "POST /call?page=7 HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: the-test\r\nContent-Type: application/grpc\r\n" +
		"Content-Length: 0\r\nConnection: close\r\n"
	for mark, status := range map[string]string{"fine": "0", "bad": "14"} {
		answer, err := sendRaw(t.Context(), address, request+"X-Mark: "+mark+"\r\nX-Want: "+status+"\r\n\r\n")
		if err != nil || answer.status != http.StatusOK {
			t.Fatalf("a call is answered %d: %v", answer.status, err)
		}
	}
	plain := "GET / HTTP/1.1\r\nHost: " + host + "\r\nX-Mark: plain\r\nConnection: close\r\n\r\n"
	if answer, err := sendRaw(t.Context(), address, plain); err != nil || answer.status != http.StatusOK {
		t.Fatalf("a request is answered %d: %v", answer.status, err)
	}

	failed := fmt.Sprintf("failed bad 14 /call 7 %d\n", time.Now().UTC().Year())
	proxy := w.OneProxy(t, "logged")
	live.Eventually(t, 30*time.Second, 500*time.Millisecond, func(ctx context.Context) error {
		written, err := w.written(ctx, proxy)
		if err != nil {
			return err
		}
		lines := callLines(written)
		return errors.Join(
			so("both calls are there", len(lines) == 2),
			so("the one that failed says so", lines["UNAVAILABLE"]["user_agent"] == "the-test"),
			so("the other one too", lines["OK"]["status"] == 200.0),
			so("a line has the client's address", fmt.Sprint(lines["OK"]["x_forwarded_for"]) != "<nil>"),
			so("the log of failures has the call that failed", strings.Contains(written, failed)),
			so("and no other", !strings.Contains(written, "failed fine") && !strings.Contains(written, "failed plain")),
		)
	})
}

// callLines are the default lines of calls, by their status.
func callLines(written string) map[string]map[string]any {
	lines := map[string]map[string]any{}
	for line := range strings.Lines(written) {
		fields := map[string]any{}
		if json.Unmarshal([]byte(line), &fields) != nil {
			continue
		}
		if status, ok := fields["grpc_status"].(string); ok {
			lines[status] = fields
		}
	}
	return lines
}
