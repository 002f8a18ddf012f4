//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/live"
)

// http3Client sends requests over HTTP/3 to an address, whatever their host. Each client has one connection.
func http3Client(t *testing.T, address string) *http.Client {
	t.Helper()
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is the test's own
		Dial: func(ctx context.Context, _ string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
			return quic.DialAddr(ctx, net.JoinHostPort(address, "443"), config, quicConfig)
		},
	}
	t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}
}

// getHTTP3 asks for the path / of a host, and wants the answer 200.
func getHTTP3(ctx context.Context, c *http.Client, host string) (http3Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/", http.NoBody)
	if err != nil {
		return http3Answer{}, err
	}
	response, err := c.Do(request)
	if err != nil {
		return http3Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return http3Answer{}, fmt.Errorf("%s was answered %s", host, response.Status)
	}
	return http3Answer{protocol: response.Proto, certificate: string(response.TLS.PeerCertificates[0].Raw)}, nil
}

// http3Answer is what a test looks at of an answer.
type http3Answer struct{ protocol, certificate string }

// TestHTTP3 serves HTTP/3 by a policy, rotates the certificate, adds a route meanwhile, and takes HTTP/3 away again.
func TestHTTP3(t *testing.T) {
	t.Parallel()
	w := newPolicyFixture(t)
	if _, response := w.seen(t, "https", nil); response.Get("Alt-Svc") != "" {
		t.Errorf("without the policy, alt-svc is %q", response.Get("Alt-Svc"))
	}
	w.set(t, `{http3: {}, headers: {lateResponseHeaders: {set: [{name: x-late, value: "yes"}]}}}`)
	_, response := w.seen(t, "https", nil)
	if got := response.Get("Alt-Svc"); got != `h3=":443"; ma=86400` || response.Get("X-Late") != "yes" {
		t.Errorf("alt-svc is %q, and the late header %q", got, response.Get("X-Late"))
	}
	steady := http3Client(t, w.address)
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		answer, err := getHTTP3(ctx, steady, forwardedHost)
		if err == nil && answer.protocol != "HTTP/3.0" {
			return fmt.Errorf("the protocol is %s", answer.protocol)
		}
		return err
	})

	// A route that is added, and a certificate that is rotated, disturb no connection.
	w.Route(t, "more", "gateway", "more.example.com", "echo")
	rotated := w.rotate(t, elliptic.P256())
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if _, err := getHTTP3(ctx, steady, forwardedHost); err != nil {
			t.Errorf("on a connection from before: %v", err)
		}
		answer, err := getHTTP3(ctx, http3Client(t, w.address), "more.example.com")
		if err == nil && answer.certificate != rotated {
			return fmt.Errorf("the certificate is the one from before")
		}
		return err
	})

	// With a key that QUIC does not support, HTTPS goes on with the new certificate, and HTTP/3 ends.
	w.rotate(t, elliptic.P384())
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := live.ServedSecurely(ctx, net.JoinHostPort(w.address, "443"), forwardedHost); err != nil {
			t.Errorf("by TCP: %v", err)
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := getHTTP3(soon, http3Client(t, w.address), forwardedHost); err == nil {
			return fmt.Errorf("HTTP/3 is still served")
		}
		return nil
	})
}

// rotate replaces the key pair of the listener, and returns the new certificate.
func (w *policyFixture) rotate(t *testing.T, curve elliptic.Curve) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate, private := live.Certificate(t, forwardedHost, time.Now().Add(time.Hour), key)
	secret := &corev1.Secret{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "server"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: private}
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pair.Certificate[0])
}
