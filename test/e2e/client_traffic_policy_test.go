//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// policyFixture is a Gateway with a listener of HTTP, one of HTTPS, and one of TLS that forwards connections; and a policy for all of them
// that can be replaced.
type policyFixture struct {
	*fixture
	address string
	policy  *v1alpha1.ClientTrafficPolicy
}

func newPolicyFixture(t *testing.T) *policyFixture {
	t.Helper()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.Make(t, live.TLSSecret(t, "server", forwardedHost))
	terminate := &gwv1.ListenerTLSConfig{
		Mode: new(gwv1.TLSModeTerminate), CertificateRefs: []gwv1.SecretObjectReference{{Name: "server"}},
	}
	address := w.Programmed(t, &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "gateway"}, Spec: gwv1.GatewaySpec{
		GatewayClassName: live.GatewayClass,
		Listeners: []gwv1.Listener{
			{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType},
			{Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType, TLS: terminate},
			{Name: "tls", Port: 8443, Protocol: gwv1.TLSProtocolType, TLS: terminate},
		},
	}})
	w.Route(t, "route", "gateway", forwardedHost, "echo")
	w.Make(t, &gwv1.TLSRoute{ObjectMeta: metav1.ObjectMeta{Name: "connections"}, Spec: gwv1.TLSRouteSpec{
		CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: "gateway", SectionName: new(gwv1.SectionName("tls"))}}},
		Hostnames:       []gwv1.Hostname{forwardedHost},
		Rules: []gwv1.TLSRouteRule{{BackendRefs: []gwv1.BackendRef{{
			BackendObjectReference: gwv1.BackendObjectReference{Name: "echo", Port: new(gwv1.PortNumber(80))},
		}}}},
	}})
	w.WaitServed(t, address, forwardedHost)
	return &policyFixture{fixture: w, address: address}
}

// set replaces the policy, and waits until proxies have it.
func (w *policyFixture) set(t *testing.T, settings string) {
	t.Helper()
	spec := v1alpha1.ClientTrafficPolicySpec{}
	if err := yaml.UnmarshalStrict([]byte(settings), &spec); err != nil {
		t.Fatalf("read the settings: %v", err)
	}
	spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{{
		LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{Group: gwv1.GroupName, Kind: "Gateway", Name: "gateway"},
	}}
	if w.policy == nil {
		w.policy = &v1alpha1.ClientTrafficPolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}, Spec: spec}
		w.Make(t, w.policy)
	} else {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(w.policy), w.policy); err != nil {
				return fmt.Errorf("read the policy: %w", err)
			}
			w.policy.Spec = spec
			return w.Update(ctx, w.policy)
		})
	}
	generation := w.policy.Generation
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(w.policy), w.policy); err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
		return notProgrammed(w.policy.Status.Conditions, generation, strings.Contains(settings, "missing"))
	})
}

// seen is what the backend sees of the headers of a request.
func (w *policyFixture) seen(t *testing.T, scheme string, headers map[string]string) (request map[string]string, response http.Header) {
	t.Helper()
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	request, response, err := echoHeaders(t.Context(), scheme, net.JoinHostPort(w.address, port), headers)
	if err != nil {
		t.Fatal(err)
	}
	return request, response
}

// TestClientAddressPolicy: where the address of the client is found.
func TestClientAddressPolicy(t *testing.T) {
	t.Parallel()
	w := newPolicyFixture(t)
	sent := map[string]string{
		"X-Forwarded-For":   "192.0.2.60",
		"X-Forwarded-Proto": "https",
		"X-Forwarded-Port":  "444",
		"X-Real-Ip":         "192.0.2.70",
	}
	own, _ := w.seen(t, "http", nil)
	peer := own["X-Forwarded-For"]
	expect := func(what string, want map[string]string) {
		t.Helper()
		got, _ := w.seen(t, "http", sent)
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: backends see %s %q, want %q", what, name, got[name], value)
			}
		}
	}
	bits := map[bool]string{true: "32", false: "128"}[net.ParseIP(peer).To4() != nil]

	w.set(t, `clientIPDetection: {xForwardedFor: {numTrustedHops: 1}}`)
	expect("a trusted hop", map[string]string{
		"X-Forwarded-For":          "192.0.2.60," + peer,
		"X-Forwarded-Proto":        "https",
		"X-Forwarded-Port":         "444",
		"X-Envoy-External-Address": "192.0.2.60",
	})
	w.set(t, `clientIPDetection: {xForwardedFor: {trustedCIDRs: ["`+peer+`/`+bits+`"]}}`)
	expect("a trusted peer", map[string]string{"X-Forwarded-For": "192.0.2.60," + peer, "X-Forwarded-Proto": "https"})
	w.set(t, `clientIPDetection: {xForwardedFor: {trustedCIDRs: [203.0.113.0/24]}}`)
	expect("a peer that is not trusted", map[string]string{"X-Forwarded-For": peer, "X-Forwarded-Proto": "http", "X-Forwarded-Port": ""})
	w.set(t, `{clientIPDetection: {customHeader: {name: X-Real-Ip, failClosed: true}}, headers: {requestID: Generate}}`)
	expect("a header", map[string]string{"X-Forwarded-Proto": "http"})
	_, _, err := echoHeaders(t.Context(), "http", net.JoinHostPort(w.address, "80"), nil)
	if err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a request without the header: %v", err)
	}
	w.set(t, `proxyProtocol: {}`)
	answer, err := live.RawHTTP1(t.Context(), net.JoinHostPort(w.address, "80"), nil,
		"PROXY TCP4 192.0.2.80 192.0.2.81 1234 80\nGET / HTTP/1.1\nHost: "+forwardedHost)
	if err != nil || answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), "192.0.2.80") {
		t.Errorf("with the PROXY protocol: %d, %v, %s", answer.Status, err, answer.Body)
	}
	if answer, err := live.RawHTTP1(t.Context(), net.JoinHostPort(w.address, "80"), nil, "GET / HTTP/1.1\nHost: "+forwardedHost); err == nil {
		t.Errorf("without the PROXY protocol: answered %d", answer.Status)
	}
}

// TestClientHeadersPolicy: how headers and paths of requests and answers are treated.
func TestClientHeadersPolicy(t *testing.T) {
	t.Parallel()
	w := newPolicyFixture(t)
	at := net.JoinHostPort(w.address, "80")
	w.set(t, `
headers:
  requestID: PreserveOrGenerate
  withUnderscoresAction: RejectRequest
  maxRequestHeaderLimit: 8Ki
  earlyRequestHeaders:
    set: [{name: X-Early, value: "100%"}]
    remove: [X-Gone]
    removeOnMatch: [{type: Prefix, value: x-drop-}]
    addIfAbsent: [{name: X-Kept, value: mine}]
  lateResponseHeaders: {set: [{name: X-Late, value: "yes"}], remove: [X-Content-Type-Options]}
path: {disableMergeSlashes: true}
healthCheck: {path: /healthz}
http1: {preserveHeaderCase: true}
`)
	request, response := w.seen(t, "http", map[string]string{"X-Request-Id": "mine", "X-Gone": "1", "X-Drop-This": "1", "X-Kept": "theirs"})
	for name, want := range map[string]string{"X-Request-Id": "mine", "X-Early": "100%", "X-Gone": "", "X-Drop-This": "", "X-Kept": "theirs"} {
		if request[name] != want {
			t.Errorf("backends see %s %q, want %q", name, request[name], want)
		}
	}
	if response.Get("X-Late") != "yes" || response.Get("X-Content-Type-Options") != "" {
		t.Errorf("the client sees %v", response)
	}
	for what, c := range map[string]struct {
		request string
		want    int
	}{
		"an underscore": {"GET / HTTP/1.1\nHost: " + forwardedHost + "\nx_y: 1", http.StatusBadRequest},
		"large headers": {
			"GET / HTTP/1.1\nHost: " + forwardedHost + "\nx-large: " + strings.Repeat("x", 9<<10),
			http.StatusRequestHeaderFieldsTooLarge,
		},
		"a health check":            {"GET /healthz HTTP/1.1\nHost: nothing", http.StatusOK},
		"another path of that host": {"GET /other HTTP/1.1\nHost: nothing", http.StatusNotFound},
	} {
		answer, err := live.RawHTTP1(t.Context(), at, nil, c.request)
		if err != nil || answer.Status != c.want {
			t.Errorf("%s is answered %d, %v, want %d", what, answer.Status, err, c.want)
		}
	}
	answer, err := live.RawHTTP1(t.Context(), at, nil, "GET //a//b HTTP/1.1\nHost: "+forwardedHost)
	if err != nil || !strings.Contains(string(answer.Body), "//a//b") {
		t.Errorf("slashes are merged: %v, %s", err, answer.Body)
	}
}

// TestClientLimitsPolicy: timeouts and limits of connections.
func TestClientLimitsPolicy(t *testing.T) {
	t.Parallel()
	w := newPolicyFixture(t)
	at := net.JoinHostPort(w.address, "80")
	w.set(t, `
timeout: {http: {requestReceivedTimeout: 1s}}
connection: {connectionLimit: {maxRequestsPerConnection: 1}}
`)
	answer, err := live.RawHTTP1(t.Context(), at, nil, "POST / HTTP/1.1\nHost: "+forwardedHost+"\nContent-Length: 5")
	if err != nil || answer.Status != http.StatusRequestTimeout {
		t.Errorf("a request that does not end is answered %d, %v", answer.Status, err)
	}
	answer, err = live.RawHTTP1(t.Context(), at, nil, "GET / HTTP/1.1\nHost: "+forwardedHost)
	if err != nil || answer.Status != http.StatusOK || !answer.Close {
		t.Errorf("the only request of a connection is answered %d, close %v, %v", answer.Status, answer.Close, err)
	}
	w.set(t, `connection: {connectionLimit: {value: 1}}`)
	held, err := net.DialTimeout("tcp", at, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if _, err := fmt.Fprintf(held, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", forwardedHost); err != nil {
		t.Fatal(err)
	}
	if _, err := held.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the connection within the limit: %v", err)
	}
	if answer, err := live.RawHTTP1(t.Context(), at, nil, "GET / HTTP/1.1\nHost: "+forwardedHost); err == nil {
		t.Errorf("a connection beyond the limit is answered %d", answer.Status)
	}
}

// handshake opens a connection with TLS, and sends a request. It fails where one of these is not answered.
func (w *policyFixture) handshake(port string, config *tls.Config) (tls.ConnectionState, error) {
	config.ServerName, config.InsecureSkipVerify = forwardedHost, true
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", net.JoinHostPort(w.address, port), config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = connection.Close() }()
	// Of its certificate the client hears only with the first answer.
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(connection, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", forwardedHost); err != nil {
		return tls.ConnectionState{}, err
	}
	answer := make([]byte, 12)
	if _, err := connection.Read(answer); err != nil {
		return tls.ConnectionState{}, err
	}
	if config.NextProtos == nil && !strings.Contains(string(answer), "200") {
		return tls.ConnectionState{}, errors.New(string(answer))
	}
	return connection.ConnectionState(), nil
}

// tlsPorts are those where proxies end TLS: for requests, and for connections that they forward.
var tlsPorts = []string{"443", "8443"}

// TestClientTLSPolicy: versions, ALPN, certificates of clients, and that what cannot be resolved lets nothing in.
func TestClientTLSPolicy(t *testing.T) {
	t.Parallel()
	w := newPolicyFixture(t)
	w.set(t, `tls: {minVersion: "1.3", alpnProtocols: [http/1.1]}`)
	for _, port := range tlsPorts {
		if _, err := w.handshake(port, &tls.Config{MaxVersion: tls.VersionTLS12}); err == nil { //nolint:gosec // the test is about old versions
			t.Errorf("TLS 1.2 is accepted at port %s", port)
		}
	}
	state, err := w.handshake("443", &tls.Config{NextProtos: []string{"h2", "http/1.1"}})
	if err != nil || state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("ALPN gives %q, %v", state.NegotiatedProtocol, err)
	}
	w.set(t, `tls: {maxVersion: "1.2", ciphers: [ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-RSA-AES256-GCM-SHA384]}`)
	state, err = w.handshake("443", &tls.Config{})
	if err != nil || state.Version != tls.VersionTLS12 || !strings.Contains(tls.CipherSuiteName(state.CipherSuite), "AES_256_GCM") {
		t.Errorf("it is version %x with %s, %v", state.Version, tls.CipherSuiteName(state.CipherSuite), err)
	}

	known, unknown := newAuthority(t), newAuthority(t)
	w.Make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string]string{
		"ca.crt": string(known.pem), "ca.crl": known.revoke(t, 7),
	}})
	w.Make(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "revoked"}, StringData: map[string]string{"ca.crl": known.revoke(t, 2)}})
	const revocations = `{caCertificateRefs: [{kind: ConfigMap, name: ca}], crl: {refs: [%s]}}`
	with := func(a authority) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{*a.issue(t)}} }
	for _, c := range []struct {
		name, settings     string
		known, other, none bool
	}{
		{"a valid certificate", `{caCertificateRefs: [{kind: ConfigMap, name: ca}]}`, true, false, false},
		{"a valid certificate, if any", `{mode: VerifyIfGiven, caCertificateRefs: [{kind: ConfigMap, name: ca}]}`, true, false, true},
		{"any certificate", `{mode: RequireAny, caCertificateRefs: [{kind: ConfigMap, name: ca}]}`, true, true, false},
		{"any certificate or none", `{mode: Request}`, true, true, true},
		{
			"the name of a certificate",
			`{caCertificateRefs: [{kind: ConfigMap, name: ca}], subjectAltNames: {dnsNames: [{value: other.example}]}}`, false, false, false,
		},
		{
			"a name by its end", `{caCertificateRefs: [{kind: ConfigMap, name: ca}], subjectAltNames: {dnsNames: [{type: Suffix, value: .example.com}]}}`,
			true, false, false,
		},
		{"the hash of another certificate", `{certificateHashes: ["` + strings.Repeat("00", 32) + `"]}`, false, false, false},
		{"a list without the certificate", fmt.Sprintf(revocations, `{kind: ConfigMap, name: ca}`), true, false, false},
		{"a list with the certificate", fmt.Sprintf(revocations, `{name: revoked}`), false, false, false},
		{"a list that is missing", fmt.Sprintf(revocations, `{kind: ConfigMap, name: ca}, {name: missing}`), false, false, false},
		{"an authority that is missing", `{caCertificateRefs: [{kind: ConfigMap, name: missing}]}`, false, false, false},
	} {
		w.set(t, `{tls: {clientValidation: `+c.settings+`}, headers: {xForwardedClientCert: {mode: SanitizeSet, certDetailsToAdd: [DNS]}}}`)
		for who, config := range map[string]struct {
			config *tls.Config
			want   bool
		}{"a known client": {with(known), c.known}, "an unknown client": {with(unknown), c.other}, "a client without one": {
			&tls.Config{},
			c.none,
		}} {
			for _, port := range tlsPorts {
				if _, err := w.handshake(port, config.config); (err == nil) != config.want {
					t.Errorf("%s: %s is answered at port %s: %v, want %v", c.name, who, port, err, config.want)
				}
			}
		}
	}
}
