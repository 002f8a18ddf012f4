//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestFailedConnections: a connection that fails before a request leaves a line in the access log that says why, and one whose client
// stops in the middle of the handshake ends. A connection that is only opened and closed, as by a load balancer's check, leaves none.
func TestFailedConnections(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "secured", 1)
	w.EchoService(t, "secured")
	known := newAuthority(t)
	w.Make(t,
		tlsSecret(t, "server", newAuthority(t).issue(t)),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string]string{"ca.crt": string(known.pem)}},
	)
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "secured"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: live.GatewayClass,
			TLS: &gwv1.GatewayTLSConfig{Frontend: &gwv1.FrontendTLSConfig{Default: gwv1.TLSConfig{
				Validation: &gwv1.FrontendTLSValidation{CACertificateRefs: []gwv1.ObjectReference{{Kind: "ConfigMap", Name: "ca"}}},
			}}},
			Listeners: []gwv1.Listener{{
				Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType, Hostname: new(gwv1.Hostname(securedHost)),
				TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: "server"}}},
			}},
		},
	}
	at := net.JoinHostPort(w.Programmed(t, gateway), "443")
	w.Route(t, "route", "secured", securedHost, "secured")
	proxy := w.OneProxy(t, "secured")
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		return greet(ctx, at, &tls.Config{ServerName: securedHost, Certificates: []tls.Certificate{*known.issue(t)}})
	})
	before := w.failures(t, proxy)
	for range 5 {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.Close()
	}

	for name, c := range failing(t, at) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.fail(t); err == nil {
				t.Error("it is served")
			}
			live.Eventually(t, 30*time.Second, 500*time.Millisecond, func(context.Context) error {
				for _, line := range w.failures(t, proxy)[len(before):] {
					if said, _ := line[c.field].(string); strings.Contains(said, c.says) {
						return nil
					}
				}
				return fmt.Errorf("no line says %q in %q", c.says, c.field)
			})
		})
	}
	t.Cleanup(func() {
		for _, line := range w.failures(t, proxy) {
			if line["tls_failure"] == nil && line["details"] == nil && line["response_flags"] == "-" {
				t.Errorf("a connection that did not fail has a line: %v", line)
			}
		}
	})
}

type failure struct {
	fail        func(t *testing.T) error
	field, says string
}

// failing are connections that come to no request. A field of their line tells the reason, with a part of what it says.
func failing(t *testing.T, at string) map[string]failure {
	t.Helper()
	stranger := newAuthority(t).issue(t)
	with := func(settings *tls.Config) func(t *testing.T) error {
		return func(t *testing.T) error {
			t.Helper()
			return greet(t.Context(), at, settings)
		}
	}
	return map[string]failure{
		"a certificate of an unknown authority": {
			with(&tls.Config{ServerName: securedHost, Certificates: []tls.Certificate{*stranger}}), "tls_failure", "CERTIFICATE_VERIFY_FAILED",
		},
		"no certificate": {with(&tls.Config{ServerName: securedHost}), "tls_failure", "PEER_DID_NOT_RETURN_A_CERTIFICATE"},
		"an old version": {
			with(&tls.Config{ServerName: securedHost, MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11}), //nolint:gosec // it is refused
			"tls_failure", "UNSUPPORTED_PROTOCOL",
		},
		"a name that is not served": {with(&tls.Config{ServerName: "other.example.com"}), "response_flags", "NR"},
		"plain text": {func(t *testing.T) error {
			t.Helper()
			return plainText(t.Context(), at)
		}, "tls_failure", "HTTP_REQUEST"},
		"a client that stops in the middle": {func(t *testing.T) error {
			t.Helper()
			return stopMidway(t, at)
		}, "details", "timeout"},
	}
}

// failures are the lines of a proxy's access log about connections that failed before a request.
func (w *fixture) failures(t *testing.T, proxy *corev1.Pod) []map[string]any {
	t.Helper()
	// Also called when the test's own context is over.
	written, err := w.written(context.Background(), proxy)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for line := range strings.Lines(written) {
		fields := map[string]any{}
		if json.Unmarshal([]byte(line), &fields) != nil {
			continue
		}
		if _, is := fields["tls_failure"]; is {
			all = append(all, fields)
		}
	}
	return all
}

// greet asks for the secured host with a client of some settings.
func greet(ctx context.Context, at string, settings *tls.Config) error {
	settings.InsecureSkipVerify = true
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: settings}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+at+"/", http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	request.Host = securedHost
	response, err := (&http.Client{Timeout: 5 * time.Second, Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

// plainText speaks HTTP to a port for TLS.
func plainText(ctx context.Context, at string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/", http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return response.Body.Close()
}

// stopMidway begins a handshake and waits for the proxy to end the connection, which is to take about ten seconds.
func stopMidway(t *testing.T, at string) error {
	t.Helper()
	begin := clock.Now()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	// The greeting goes out; what comes back is not read, so the handshake goes no further.
	mute, hello := net.Pipe()
	go func() {
		client := tls.Client(mute, &tls.Config{ServerName: securedHost, InsecureSkipVerify: true}) //nolint:gosec // the handshake never ends
		_ = client.HandshakeContext(t.Context())
	}()
	defer func() { _ = mute.Close() }()
	greeting := make([]byte, 16<<10)
	n, err := hello.Read(greeting)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Write(greeting[:n]); err != nil {
		t.Fatal(err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, connection)
	if clock.Wall(begin) < 8*time.Second || clock.Since(begin) > 15*time.Second {
		t.Errorf("the connection ended after %s", clock.Wall(begin))
	}
	return errors.New("the connection was ended")
}
