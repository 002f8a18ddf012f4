//go:build fault

package fault

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase40ProxyPortScan tries every port of a proxy's pod, asks those that answer for what the administration has, and looks for a
// private key in everything that a proxy, its configuration and the controllers tell.
//
//nolint:paralleltest // it takes the machine from every other case
func TestCase40ProxyPortScan(t *testing.T) {
	c := begin(t, "40", "a proxy's pod is scanned, every dump is read")
	w := newSecureFixture(t, 1)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		return live.ServedSecurely(ctx, w.address, secureHost(0))
	})
	proxy := w.OneProxy(t, secureGateway)

	open := openPorts(t.Context(), proxy.Status.PodIP)
	c.note("ports %v answer", open)
	c.none(len(slices.DeleteFunc(
		slices.Clone(open), func(port int) bool { return port == 443 || port == 19001 },
	)), "ports beside the listener and the probes")
	reached := 0
	paths := []string{
		"/", "/config_dump", "/stats", "/stats/prometheus", "/clusters", "/certs", "/server_info", "/listeners", "/memory", "/runtime",
		"/logging", "/quitquitquit",
		"/drain_listeners", "/healthcheck/fail", "/ready/../config_dump", "/metrics/../config_dump", "/metrics?usedonly", "//config_dump",
		"/metrics/%2e%2e/certs",
	}
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status := raw(t, proxy.Status.PodIP, method, path); status != http.StatusNotFound && status != http.StatusBadRequest {
				t.Logf("%s %s is answered %d", method, path, status)
				reached++
			}
		}
	}
	c.none(reached, fmt.Sprintf("of %d calls of the administration answered", 2*len(paths)))

	secret := &corev1.Secret{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: secureName(0)}, secret); err != nil {
		t.Fatal(err)
	}
	c.none(w.exposedKeys(t, proxy, secret.Data[corev1.TLSPrivateKeyKey]), "private keys in dumps")
}

// openPorts tries every TCP port of an address.
func openPorts(ctx context.Context, address string) []int {
	const last, atOnce = 65535, 256
	var mu sync.Mutex
	var open []int
	ports := make(chan int)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for port := range ports {
				dialer := net.Dialer{Timeout: 2 * time.Second}
				connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, fmt.Sprint(port)))
				if err != nil {
					continue
				}
				_ = connection.Close()
				mu.Lock()
				open = append(open, port)
				mu.Unlock()
			}
		})
	}
	for port := 1; port <= last; port++ {
		ports <- port
	}
	close(ports)
	group.Wait()
	slices.Sort(open)
	return open
}

// raw asks the port for probes for a path as it is written.
func raw(t *testing.T, address, method, path string) int {
	t.Helper()
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", net.JoinHostPort(address, "19001"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(
		connection, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, path,
	); err != nil {
		t.Fatal(err)
	}
	var version string
	var status int
	if _, err := fmt.Fscanf(connection, "%s %d", &version, &status); err != nil {
		t.Fatalf("answer to %s %s: %v", method, path, err)
	}
	return status
}

// exposedKeys counts where a private key can be read: in any form, and any key at all by its mark.
func (w *fixture) exposedKeys(t *testing.T, proxy *corev1.Pod, key []byte) int {
	t.Helper()
	block, _ := pem.Decode(key)
	if block == nil {
		t.Fatal("the Secret holds no key")
	}
	body := strings.Split(strings.TrimSpace(string(key)), "\n")[1]
	texts := map[string]string{}
	for _, path := range []string{
		"/config_dump?include_eds", "/certs", "/clusters", "/server_info", "/listeners", "/stats", "/init_dump", "/runtime", "/memory",
	} {
		dump := admin(t, proxy, path)
		content, err := io.ReadAll(dump)
		_ = dump.Close()
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(content)
	}
	var maps corev1.ConfigMapList
	if err := w.List(t.Context(), &maps, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, m := range maps.Items {
		texts["ConfigMap "+m.Name] = fmt.Sprint(m.Data)
	}
	found := 0
	for name, text := range texts {
		if strings.Contains(text, body) || strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s tells a private key", name)
			found++
		}
	}
	return found
}
