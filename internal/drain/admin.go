package drain

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Admin is the Envoy behind an administration socket.
type Admin struct {
	client *http.Client
	// pressure is a file from which Envoy reads how much it should shorten the life of connections.
	pressure string
}

// NewAdmin finds Envoy by its socket, and by the file that its overload manager watches.
func NewAdmin(socket, pressure string) *Admin {
	return &Admin{pressure: pressure, client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
}

// Drain implements [Proxy]. Listeners stay open: who still comes is served, and told to go with the answer.
func (a *Admin) Drain(ctx context.Context) error {
	response, err := a.ask(ctx, http.MethodPost, "/drain_listeners?graceful&skip_exit")
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// DrainRest implements [Proxy]. Envoy has no order for it, but a longest life of connections that its overload manager can shorten.
func (a *Admin) DrainRest(context.Context) error { return WritePressure(a.pressure, true) }

// WritePressure writes the file that Envoy watches. Envoy sees that a file was moved there, not that it was written to.
func WritePressure(path string, pressed bool) error {
	level := "0"
	if pressed {
		level = "1"
	}
	if err := os.WriteFile(path+".new", []byte(level), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

// connectionStats selects what [Admin.Connections] adds up.
const connectionStats = `^listener\..*\.downstream_cx_(active|total)$`

// Connections implements [Proxy].
func (a *Admin) Connections(ctx context.Context) (Connections, error) {
	response, err := a.ask(ctx, http.MethodGet, "/stats?filter="+url.QueryEscape(connectionStats))
	if err != nil {
		return Connections{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var sum Connections
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), ": ")
		value, err := strconv.Atoi(text)
		listener, active := strings.CutSuffix(name, ".downstream_cx_active")
		if !active {
			listener = strings.TrimSuffix(name, ".downstream_cx_total")
		}
		switch {
		case err != nil || !clients(listener):
		case active:
			sum.Active += value
		default:
			sum.Total += value
		}
	}
	if err := lines.Err(); err != nil {
		return Connections{}, fmt.Errorf("read the statistics: %w", err)
	}
	return sum, nil
}

// OwnListener is the prefix of the statistics of listeners that are not for clients: the kubelet goes on asking whether the proxy is ready.
const OwnListener = "gatewright-"

// clients says whether the statistics of a listener are about clients, and not once more those of one thread.
func clients(listener string) bool {
	listener = strings.TrimPrefix(listener, "listener.")
	return listener != "admin" && !strings.HasPrefix(listener, "admin.") && !strings.HasPrefix(listener, OwnListener) && !strings.Contains(
		listener, ".worker_",
	)
}

func (a *Admin) ask(ctx context.Context, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://envoy"+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make a request for %s: %w", path, err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("ask for %s: %s", path, response.Status)
	}
	return response, nil
}
