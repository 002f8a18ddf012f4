//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

const securedHost = "secured.example.com"

// TestClientCertificates lets in clients that an authority knows, and after the authority was replaced only those of the new one. What
// holds the authority differs.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	first, second := newAuthority(t), newAuthority(t)
	for name, source := range map[string]func(t *testing.T, w *fixture) (gwv1.ObjectReference, client.Object, []string){
		"in a ConfigMap": func(_ *testing.T, w *fixture) (gwv1.ObjectReference, client.Object, []string) {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ca", Namespace: w.Namespace}}
			return gwv1.ObjectReference{Kind: "ConfigMap", Name: "ca"}, object, []string{"data", "ca.crt"}
		},
		"in a ClusterTrustBundle": func(t *testing.T, w *fixture) (gwv1.ObjectReference, client.Object, []string) {
			object := &unstructured.Unstructured{}
			object.SetAPIVersion("certificates.k8s.io/v1beta1")
			object.SetKind("ClusterTrustBundle")
			object.SetName(w.Namespace)
			t.Cleanup(func() {
				// The test's own context is over by now.
				if err := client.IgnoreNotFound(w.Delete(context.Background(), object)); err != nil {
					t.Errorf("delete the ClusterTrustBundle: %v", err)
				}
			})
			ref := gwv1.ObjectReference{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle", Name: gwv1.ObjectName(w.Namespace)}
			return ref, object, []string{"spec", "trustBundle"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Echo(t, "secured", 1)
			w.EchoService(t, "secured")
			ref, object, field := source(t, w)
			w.keep(t, object, field, first.pem)
			address := w.securedGateway(t, ref)
			w.Route(t, "route", "secured", securedHost, "secured")

			w.expectClient(t, address, "of the authority", first.issue(t), true)
			w.expectClient(t, address, "of another authority", second.issue(t), false)
			w.expectClient(t, address, "without a certificate", nil, false)

			w.keep(t, object, field, second.pem)
			w.expectClient(t, address, "of the new authority", second.issue(t), true)
			w.expectClient(t, address, "of the old authority", first.issue(t), false)
		})
	}
}

// keep stores the certificate of an authority in a field of an object, which is made if it is not there.
func (w *fixture) keep(t *testing.T, object client.Object, field []string, certificate []byte) {
	t.Helper()
	gvk, err := w.GroupVersionKindFor(object)
	if err != nil {
		t.Fatalf("find the kind of %T: %v", object, err)
	}
	loose := &unstructured.Unstructured{}
	loose.SetGroupVersionKind(gvk)
	loose.SetNamespace(object.GetNamespace())
	loose.SetName(object.GetName())
	if err := unstructured.SetNestedField(loose.Object, string(certificate), field...); err != nil {
		t.Fatalf("set %v: %v", field, err)
	}
	if err := w.Apply(
		t.Context(), client.ApplyConfigurationFromUnstructured(loose), client.FieldOwner("e2e"), client.ForceOwnership,
	); err != nil {
		t.Fatalf("apply %s %s: %v", gvk.Kind, object.GetName(), err)
	}
}

// securedGateway makes a Gateway that asks its clients for certificates, and returns its address once it is programmed.
func (w *fixture) securedGateway(t *testing.T, authority gwv1.ObjectReference) string {
	t.Helper()
	w.Make(t, tlsSecret(t, "server", newAuthority(t).issue(t)))
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "secured"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: live.GatewayClass,
			TLS: &gwv1.GatewayTLSConfig{Frontend: &gwv1.FrontendTLSConfig{Default: gwv1.TLSConfig{
				Validation: &gwv1.FrontendTLSValidation{CACertificateRefs: []gwv1.ObjectReference{authority}},
			}}},
			Listeners: []gwv1.Listener{{
				Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType,
				TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: "server"}}},
			}},
		},
	}
	return w.Programmed(t, gateway)
}

// tlsSecret is a certificate and its key as a Secret.
func tlsSecret(t *testing.T, name string, certificate *tls.Certificate) *corev1.Secret {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatalf("encode the key: %v", err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		},
	}
}

// expectClient waits until a client with that certificate is let in, or is not.
func (w *fixture) expectClient(t *testing.T, address, who string, certificate *tls.Certificate, allowed bool) {
	t.Helper()
	config := &tls.Config{ServerName: securedHost, InsecureSkipVerify: true} //nolint:gosec // the test is about the client's certificate
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: config,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(address, "443"))
		},
	}
	c := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+securedHost+"/", http.NoBody)
		if err != nil {
			return fmt.Errorf("make a request: %w", err)
		}
		response, err := c.Do(request)
		if err == nil {
			err = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				err = errors.New(response.Status)
			}
			if !allowed {
				return fmt.Errorf("a client %s was answered %s", who, response.Status)
			}
		}
		if allowed && err != nil {
			return fmt.Errorf("a client %s was not let in: %w", who, err)
		}
		return nil
	})
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatalf("make an authority: %v", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("parse an authority: %v", err)
	}
	return authority{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// revoke is a list of the certificates with these numbers. Those of issue have number 2.
func (a authority) revoke(t *testing.T, numbers ...int64) string {
	t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour)}
	for _, number := range numbers {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: big.NewInt(number), RevocationTime: time.Now().Add(-time.Minute),
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.certificate, a.key)
	if err != nil {
		t.Fatalf("make a revocation list: %v", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}

func (a authority) issue(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: securedHost}, DNSNames: []string{securedHost},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatalf("issue a certificate: %v", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
