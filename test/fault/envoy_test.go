//go:build fault

package fault

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/test/live"
)

// adminSocket is where a proxy's administration listens inside its container: on no network.
const adminSocket = "/run/envoy/admin.sock"

// process is that of Envoy in a proxy's pod.
func process(t *testing.T, proxy *corev1.Pod) int {
	t.Helper()
	found := 0
	live.Eventually(t, 30*time.Second, 50*time.Millisecond, func(context.Context) error {
		for _, pid := range live.Processes(t, string(proxy.UID)) {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", pid, adminSocket)); err == nil {
				found = pid
				return nil
			}
		}
		return fmt.Errorf("proxy %s has no process", proxy.Name)
	})
	return found
}

// adminClient talks to a proxy's administration, whatever the host is called.
func adminClient(t *testing.T, proxy *corev1.Pod) *http.Client {
	t.Helper()
	socket := fmt.Sprintf("/proc/%d/root%s", process(t, proxy), adminSocket)
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
}

// admin asks a proxy's administration.
func admin(t *testing.T, proxy *corev1.Pod, path string) io.ReadCloser {
	t.Helper()
	body, err := askAdmin(t.Context(), adminClient(t, proxy), path)
	if err != nil {
		t.Fatalf("ask proxy %s: %v", proxy.Name, err)
	}
	return body
}

func askAdmin(ctx context.Context, client *http.Client, path string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy"+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("ask for %s: %s", path, response.Status)
	}
	return response.Body, nil
}

// stats reads the counters and gauges of a proxy.
func stats(t *testing.T, proxy *corev1.Pod) map[string]int {
	t.Helper()
	body := admin(t, proxy, "/stats")
	defer func() { _ = body.Close() }()
	values := map[string]int{}
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), ": ")
		if value, err := strconv.Atoi(text); err == nil {
			values[name] = value
		}
	}
	if len(values) == 0 {
		t.Fatalf("proxy %s has no statistics: %v", proxy.Name, lines.Err())
	}
	return values
}

// sum adds up the statistics whose names end so.
func sum(values map[string]int, suffix string) int {
	total := 0
	for name, value := range values {
		if strings.HasSuffix(name, suffix) {
			total += value
		}
	}
	return total
}

// nacks counts what a proxy rejected of its configuration: listeners, clusters, route tables.
func nacks(t *testing.T, proxy *corev1.Pod) int {
	t.Helper()
	return sum(stats(t, proxy), ".update_rejected")
}

// configurationSize is how much a proxy was told, as it tells itself.
func configurationSize(t *testing.T, proxy *corev1.Pod) int64 {
	t.Helper()
	body := admin(t, proxy, "/config_dump")
	defer func() { _ = body.Close() }()
	size, err := io.Copy(io.Discard, body)
	if err != nil {
		t.Fatalf("read the configuration of %s: %v", proxy.Name, err)
	}
	return size
}
