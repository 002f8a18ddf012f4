//go:build fault

package fault

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase27CertificateRotation gives a listener a new certificate again and again while clients shake hands with it.
func TestCase27CertificateRotation(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	c := begin(t, "27", "a certificate is rotated under handshakes")
	w := newSecureFixture(t, 1)
	host := secureHost(0)
	w.waitSecure(t, host)
	run := w.startHandshakes(t, []string{host})
	rotations, every := amount(60, 15), span(10*time.Second, time.Second)
	var slowest time.Duration
	for range rotations {
		next := time.Now().Add(every)
		certificate, key := live.KeyPair(t, host)
		start := clock.Now()
		w.rotate(t, secureName(0), certificate, key)
		w.waitCertificate(t, host, certificate)
		slowest = max(slowest, clock.Since(start))
		time.Sleep(time.Until(next))
	}
	c.note("%d rotations, one every %s", rotations, every)
	c.load(run.Stop())
	c.took(slowest, "a new one is shown within", limit)
}

// rotate puts another certificate into a Secret.
func (w *fixture) rotate(t *testing.T, name string, certificate, key []byte) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatalf("rotate secret %s: %v", name, err)
	}
}

// waitCertificate shakes hands until it is shown a certificate.
func (w *fixture) waitCertificate(t *testing.T, host string, certificate []byte) {
	t.Helper()
	want, _ := pem.Decode(certificate)
	live.Eventually(t, 30*time.Second, 5*time.Millisecond, func(ctx context.Context) error {
		dialer := &tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}} //nolint:gosec // the certificate is compared below
		connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(w.address, "443"))
		if err != nil {
			return fmt.Errorf("shake hands: %w", err)
		}
		defer func() { _ = connection.Close() }()
		secure, ok := connection.(*tls.Conn)
		if !ok || !bytes.Equal(secure.ConnectionState().PeerCertificates[0].Raw, want.Bytes) {
			return errors.New("another certificate is shown")
		}
		return nil
	})
}
