package drain_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gatewright/gatewright/internal/drain"
)

// envoyStats is what Envoy 1.40 answers.
const envoyStats = `listener.0.0.0.0_80.downstream_cx_active: 3
listener.0.0.0.0_80.downstream_cx_total: 40
listener.0.0.0.0_80.worker_0.downstream_cx_active: 1
listener.0.0.0.0_80.worker_0.downstream_cx_total: 20
listener.0.0.0.0_443.downstream_cx_active: 2
listener.0.0.0.0_443.downstream_cx_total: 5
listener.admin.downstream_cx_active: 1
listener.admin.downstream_cx_total: 9
listener.admin.main_thread.downstream_cx_active: 1
listener.admin.main_thread.downstream_cx_total: 9
listener.gatewright-ready.downstream_cx_active: 1
listener.gatewright-ready.downstream_cx_total: 100
`

// envoy plays the administration of one, and tells what it is asked.
func envoy(t *testing.T, asked func(request string)) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r.Method + " " + r.URL.Path)
		switch {
		case r.URL.Path == "/stats" && strings.Contains(r.URL.Query().Get("filter"), "downstream_cx"):
			_, _ = w.Write([]byte(envoyStats))
		case r.URL.Path == "/drain_listeners" && r.URL.Query().Has("graceful") && r.URL.Query().Has("skip_exit"):
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return socket
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	// The time of a bubble does not pass while a server waits for its socket, so no request times out.
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		socket := envoy(t, func(request string) { asked = append(asked, request) })
		admin := drain.NewAdmin(socket, "")
		if err := admin.Drain(t.Context()); err != nil {
			t.Errorf("drain: %v", err)
		}
		if got, err := admin.Connections(t.Context()); err != nil || got != (drain.Connections{Active: 5, Total: 45}) {
			t.Errorf("want the connections of clients, each once: %+v, %v", got, err)
		}
		if got := strings.Join(asked, ", "); got != "POST /drain_listeners, GET /stats" {
			t.Errorf("asked %s", got)
		}
		if err := drain.NewAdmin(socket+"-not", "").Drain(t.Context()); err == nil {
			t.Error("no server answers, and that is no error")
		}
	})
}

func TestPressure(t *testing.T) {
	t.Parallel()
	pressure := filepath.Join(t.TempDir(), "pressure")
	read := func() string {
		content, err := os.ReadFile(pressure) //nolint:gosec // a file of this test
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	if err := drain.WritePressure(pressure, false); err != nil || read() != "0" {
		t.Errorf("without pressure: %q, %v", read(), err)
	}
	if err := drain.NewAdmin("", pressure).DrainRest(t.Context()); err != nil || read() != "1" {
		t.Errorf("with pressure: %q, %v", read(), err)
	}
}
