//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/test/live"
)

// toXBackend has the first backend of a route be an XBackend.
func toXBackend(route *gwv1.HTTPRoute, name string) *gwv1.HTTPRoute {
	route.Spec.Rules[0].BackendRefs[0].BackendObjectReference = gwv1.BackendObjectReference{
		Group: new(gwv1.Group(gwxv1alpha1.GroupName)), Kind: new(gwv1.Kind("XBackend")), Name: gwv1.ObjectName(name),
	}
	return route
}

// TestXBackendEndpointSelector sends requests to pods that no Service of the user's selects: to new ones as they come, to others when the
// labels change, and to one of them in a session. What is made for that is hidden, and goes when it is not needed.
func TestXBackendEndpointSelector(t *testing.T) {
	t.Parallel()
	const host = "pods.xbackend.example.com"
	w := newFixture(t)
	w.needExperimental(t)
	blue, green := w.Echo(t, "blue", 2), w.Echo(t, "green", 1)
	address := w.Gateway(t, "gateway")
	backend := &gwxv1alpha1.XBackend{ObjectMeta: metav1.ObjectMeta{Name: "pods"}}
	backend.Spec.Type, backend.Spec.Port.Number = gwxv1alpha1.BackendTypeEndpointSelector, live.EchoPort
	backend.Spec.EndpointSelector = &gwxv1alpha1.EndpointSelectorBackend{}
	backend.Spec.EndpointSelector.MatchLabels = map[gwv1.LabelKey]gwv1.LabelValue{"app": "blue"}
	backend.Spec.SessionPersistence = &gwv1.SessionPersistence{
		Type: new(gwv1.CookieBasedSessionPersistence), Cookie: &gwv1.CookieConfig{Name: new(gwv1.CookieName("sticky"))},
	}
	route := toXBackend(live.HTTPRoute("pods", "gateway", host, "unused"), "pods")
	w.Make(t, backend, route)
	w.WaitServed(t, address, host)
	w.waitXBackend(t, backend, metav1.ConditionTrue)
	w.checkSession(t, address, host, stickyCookie)
	w.waitAnswered(t, address, host, podNames(blue))

	backend.Spec.EndpointSelector.MatchLabels = map[gwv1.LabelKey]gwv1.LabelValue{"app": "green"}
	if err := w.Update(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	w.waitAnswered(t, address, host, podNames(green))

	made := w.madeServices(t)
	if len(made) != 1 || made[0].Spec.ClusterIP != corev1.ClusterIPNone || strings.Contains(made[0].Name, "pods") {
		t.Errorf("made for the XBackend: %+v", made)
	}
	if err := w.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(context.Context) error {
		if left := w.madeServices(t); len(left) > 0 {
			return fmt.Errorf("the XBackend is not needed and Service %s is still there", left[0].Name)
		}
		return nil
	})
}

func stickyCookie(h http.Header) map[string]string {
	for _, cookie := range (&http.Response{Header: h}).Cookies() {
		if cookie.Name == "sticky" {
			return map[string]string{"Cookie": `sticky="` + cookie.Value + `"`}
		}
	}
	return nil
}

func podNames(pods []corev1.Pod) map[string]bool {
	names := map[string]bool{}
	for i := range pods {
		names[pods[i].Name] = true
	}
	return names
}

// waitAnswered waits until these pods answer, each of them and no others.
func (w *fixture) waitAnswered(t *testing.T, address, host string, pods map[string]bool) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		seen := map[string]bool{}
		for range 20 * len(pods) {
			a, err := w.Request(ctx, address, host)
			if err != nil {
				return err
			}
			if !pods[a.Pod] {
				return fmt.Errorf("pod %s answers, which is not one of %v", a.Pod, pods)
			}
			seen[a.Pod] = true
		}
		if len(seen) != len(pods) {
			return fmt.Errorf("only %v of %v answer", seen, pods)
		}
		return nil
	})
}

// madeServices are those that Gatewright made for XBackends.
func (w *fixture) madeServices(t *testing.T) []corev1.Service {
	t.Helper()
	var services corev1.ServiceList
	if err := w.List(t.Context(), &services, client.InNamespace(w.Namespace), client.HasLabels{"gatewright.dev/xbackend-uid"}); err != nil {
		t.Fatal(err)
	}
	return services.Items
}

func (w *fixture) waitXBackend(t *testing.T, backend *gwxv1alpha1.XBackend, want metav1.ConditionStatus) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
			return fmt.Errorf("get the XBackend: %w", err)
		}
		if len(backend.Status.Ancestors) != 1 || !meta.IsStatusConditionPresentAndEqual(
			backend.Status.Ancestors[0].Conditions, string(gwxv1alpha1.BackendConditionAccepted), want) {
			return fmt.Errorf("XBackend %s should be accepted=%s: %+v", backend.Name, want, backend.Status)
		}
		return nil
	})
}

// outside is a zone of the test cluster's DNS in which every name leads to the node.
const outside = "server.outside.example"

// TestXBackendExternalHostname reaches a server by a name that DNS knows, in plain text and by TLS with certificates on both sides. One
// that is not whom the XBackend trusts is not spoken to.
func TestXBackendExternalHostname(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	address := w.Gateway(t, "gateway")
	trusted, other := newAuthority(t), newAuthority(t)
	pool := x509.NewCertPool()
	pool.AddCert(trusted.certificate)
	plain := w.serveOutside(t, nil)
	secure := w.serveOutside(t, &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*trusted.issue(t)}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert,
	})
	for name, from := range map[string]authority{"trusted": trusted, "untrusted": other} {
		w.Make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"ca.crt": string(from.pem)}})
	}
	w.Make(t, tlsSecret(t, "client", trusted.issue(t)))
	for name, c := range map[string]struct {
		port      int32
		authority gwv1.ObjectName
		status    int
		// saw is the name in the client's certificate.
		saw string
	}{
		"plain":     {port: plain, status: http.StatusOK, saw: "no certificate"},
		"trusted":   {port: secure, authority: "trusted", status: http.StatusOK, saw: securedHost},
		"untrusted": {port: secure, authority: "untrusted", status: http.StatusServiceUnavailable},
	} {
		backend := &gwxv1alpha1.XBackend{ObjectMeta: metav1.ObjectMeta{Name: name}}
		backend.Spec.Type, backend.Spec.Port.Number = gwxv1alpha1.BackendTypeExternalHostname, gwxv1alpha1.PortNumber(c.port)
		backend.Spec.ExternalHostname = &gwxv1alpha1.ExternalHostnameBackend{Hostname: outside}
		if c.authority != "" {
			backend.Spec.TLS = &gwxv1alpha1.BackendTLS{
				Mode:                 gwxv1alpha1.BackendTLSModeClientAndServer,
				ClientCertificateRef: &gwv1.SecretObjectReference{Name: "client"},
				Validation: &gwv1.BackendTLSPolicyValidation{
					Hostname: securedHost, CACertificateRefs: []gwv1.LocalObjectReference{{Kind: "ConfigMap", Name: c.authority}},
				},
			}
		}
		host := name + ".external.example.com"
		w.Make(t, backend, toXBackend(live.HTTPRoute(name, "gateway", host, "unused"), name))
		live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
			r, err := w.ask(ctx, address, host, "", nil)
			if err == nil && (r.status != c.status || r.Pod != c.saw) {
				err = fmt.Errorf("%s: %d, the server saw %q; want %d and %q", host, r.status, r.Pod, c.status, c.saw)
			}
			return err
		})
		w.waitXBackend(t, backend, metav1.ConditionTrue)
	}
}

// serveOutside answers on the node, by TLS if it is configured, with the name of the client's certificate.
func (w *fixture) serveOutside(t *testing.T, config *tls.Config) int32 {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(w.NodeAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, TLSConfig: config, Handler: http.HandlerFunc(func(
		response http.ResponseWriter, request *http.Request,
	) {
		saw := "no certificate"
		if request.TLS != nil && len(request.TLS.PeerCertificates) > 0 {
			saw = request.TLS.PeerCertificates[0].Subject.CommonName
		}
		_ = json.NewEncoder(response).Encode(live.Answer{Pod: saw})
	})}
	go func() {
		if config != nil {
			_ = server.ServeTLS(listener, "", "")
			return
		}
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { _ = server.Close() })
	endpoint, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%s is not the address of a TCP port", listener.Addr())
	}
	return int32(endpoint.Port) //nolint:gosec // a TCP port
}
