//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestUnreadableAuthority trusts the authorities of a bundle that holds one which cannot be read beside a good one, as text and as binary
// data.
func TestUnreadableAuthority(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	trusted := newAuthority(t)
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("not a certificate")})
	bundle := slices.Concat(broken, trusted.pem)
	address := w.Gateway(t, "gateway")
	for name, config := range map[string]*corev1.ConfigMap{
		"text":   {Data: map[string]string{"ca.crt": string(bundle)}},
		"binary": {BinaryData: map[string][]byte{"ca.crt": bundle}},
	} {
		config.ObjectMeta = metav1.ObjectMeta{Name: name}
		w.Make(t, config)
		listener := tls.NewListener(w.ListenHere(t, name), &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*trusted.issue(t)},
		})
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(response).Encode(live.Answer{Pod: name})
		})}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
		policy := &gwv1.BackendTLSPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		var target gwv1.LocalPolicyTargetReferenceWithSectionName
		target.Kind, target.Name = "Service", gwv1.ObjectName(name)
		policy.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{target}
		policy.Spec.Validation = gwv1.BackendTLSPolicyValidation{
			Hostname:          securedHost,
			CACertificateRefs: []gwv1.LocalObjectReference{{Kind: "ConfigMap", Name: gwv1.ObjectName(name)}},
		}
		w.Make(t, policy)
		host := name + ".example.com"
		w.Route(t, name, "gateway", host, name)
		live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
			r, err := w.ask(ctx, address, host, "", nil)
			if err == nil && r.status != http.StatusOK {
				err = fmt.Errorf("%s: %d, want 200", name, r.status)
			}
			return err
		})
	}
}
