//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestBackendTrustBundle encrypts the way to a backend whose authority is in a ClusterTrustBundle, and does not speak to one whose is not.
func TestBackendTrustBundle(t *testing.T) {
	t.Parallel()
	const host = "bundle.example.com"
	w := newFixture(t)
	trusted, other := newAuthority(t), newAuthority(t)
	bundle := &unstructured.Unstructured{}
	bundle.SetAPIVersion("certificates.k8s.io/v1beta1")
	bundle.SetKind("ClusterTrustBundle")
	bundle.SetName(w.Namespace)
	t.Cleanup(func() {
		// The test's own context is over by now.
		if err := client.IgnoreNotFound(w.Delete(context.Background(), bundle)); err != nil {
			t.Errorf("delete the ClusterTrustBundle: %v", err)
		}
	})
	w.keep(t, bundle, []string{"spec", "trustBundle"}, trusted.pem)
	listener := tls.NewListener(w.ListenHere(t, "secure"), &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*trusted.issue(t)},
	})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(response).Encode(live.Answer{Pod: "secure"})
	})}
	// What the proxy trusts is asked of each connection, so none may be used twice.
	server.SetKeepAlivesEnabled(false)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	address := w.Gateway(t, "gateway")
	policy := &gwv1.BackendTLSPolicy{ObjectMeta: metav1.ObjectMeta{Name: "bundle"}}
	var target gwv1.LocalPolicyTargetReferenceWithSectionName
	target.Kind, target.Name = "Service", "secure"
	policy.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{target}
	policy.Spec.Validation = gwv1.BackendTLSPolicyValidation{
		Hostname: securedHost,
		CACertificateRefs: []gwv1.LocalObjectReference{{
			Group: "certificates.k8s.io", Kind: "ClusterTrustBundle", Name: gwv1.ObjectName(w.Namespace),
		}},
	}
	w.Make(t, policy)
	w.Route(t, "route", "gateway", host, "secure")
	expect := func(what string, status int) {
		t.Helper()
		live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
			r, err := w.ask(ctx, address, host, "", nil)
			if err == nil && r.status != status {
				err = fmt.Errorf("%s: %d, want %d", what, r.status, status)
			}
			return err
		})
	}
	expect("a backend of the authority", http.StatusOK)
	w.keep(t, bundle, []string{"spec", "trustBundle"}, other.pem)
	expect("a backend of another authority", http.StatusServiceUnavailable)
}
