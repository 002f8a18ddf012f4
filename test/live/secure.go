package live

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/clock"
)

// ServedSecurely says why a host is not answered at an address by a server that proves to be it.
func ServedSecurely(ctx context.Context, address, host string) error {
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{ServerName: host, InsecureSkipVerify: true}, //nolint:gosec // the certificate is looked at below
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+Host(address)+"/", http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request to %s: %w", address, err)
	}
	request.Host = host
	response, err := (&http.Client{Transport: clock.Transport{Base: transport, Limit: requestLimit}}).Do(request)
	if err != nil {
		return fmt.Errorf("request to %s: %w", host, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answer of %s: %s", host, response.Status)
	}
	if err := response.TLS.PeerCertificates[0].VerifyHostname(host); err != nil {
		return fmt.Errorf("certificate of %s: %w", address, err)
	}
	return nil
}

// TLSSecret holds the certificate of a host and its key.
func TLSSecret(t *testing.T, name, host string) *corev1.Secret {
	t.Helper()
	certificate, key := KeyPair(t, host)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}
}

// KeyPair makes a certificate for a host, valid for an hour, and its key.
func KeyPair(t *testing.T, host string) (certificate, privateKey []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Certificate(t, host, time.Now().Add(time.Hour), key)
}

// Certificate makes a certificate for a host and encodes it and its key.
func Certificate(t *testing.T, host string, end time.Time, key crypto.Signer) (certificate, privateKey []byte) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: end.Add(-24 * time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}
