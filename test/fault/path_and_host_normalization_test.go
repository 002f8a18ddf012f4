//go:build fault

package fault

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

const (
	tricksGateway = "tricks"
	guardedHost   = "guarded.trick.example.com"
	otherHost     = "other.trick.example.com"
	guardedPath   = "/admin"
)

// trickPaths are ways to write the guarded path, or what a server behind a proxy may take for it.
var trickPaths = []string{
	"/admin", "/admin/", "/admin/x", "/admin?x=y", "//admin", "///admin//", "/admin//x", "/./admin", "/x/../admin", "/x/./../admin",
	"/x//../admin", "/admin/..//admin", "/../admin", "/%2Fadmin", "/%2fadmin", "/%5Cadmin", "/%5cadmin", "/\\admin", "/x\\..\\admin",
	"/x/..%2fadmin", "/x%2f..%2fadmin", "/x/..%5cadmin", "/x/%2e%2e/admin", "/x/%2E%2E/admin", "/x/.%2e/admin", "/%2e/admin",
	"/%61dmin", "/%61%64%6d%69%6e", "/%61dmin%2fx", "/admin%2fx", "/admin%2f..%2fadmin", "/%2%66admin", "/%252fadmin",
	"/%25%36%31dmin", "/admin%00", "/admin%3fx", "/admin%23x", "/;/../admin", "/admin/.", "/admin/%2e",
}

// trickHosts are ways to write a host.
func trickHosts(host string) []string {
	upper := strings.ToUpper(host)
	return []string{
		host, host + ".", upper, upper + ".", host + ":80", host + ":8080", host + ".:80", upper + ".:443",
		strings.ToUpper(host[:1]) + host[1:],
	}
}

// TestCase39PathAndHostNormalization has a rule that an authorization server refuses everything of, beside a wider rule and a route for
// every host. A backend that reads paths and hosts as leniently as servers do counts what reaches it of that rule, however it was
// written. Then it asks for a host over a connection that was opened for another.
func TestCase39PathAndHostNormalization(t *testing.T) {
	t.Parallel()
	c := begin(t, "39", "path and host tricks")
	w := newFixture(t)
	var reached atomic.Int32
	w.ServeHere(t, "lenient", func(_ http.ResponseWriter, request *http.Request) {
		if isGuarded(request, guardedHost, live.ServedPath) {
			reached.Add(1)
			t.Logf("%s with host %s reached the backend", request.RequestURI, request.Host)
		}
	})
	w.ServeHere(t, "deny", func(response http.ResponseWriter, _ *http.Request) { response.WriteHeader(http.StatusForbidden) })
	address := w.tricks(t)

	answered := map[int]int{}
	requests := 0
	for _, r := range plainTricks(guardedHost, trickPaths) {
		status, err := r.send(t.Context(), address+":80")
		requests++
		answered[status]++
		if err != nil {
			t.Logf("%s: %v", r, err)
		}
	}
	c.note("%s requests, answered %v", grouped(requests), answered)
	c.none(int(reached.Load()), "bypasses")

	elsewhere, wrong := 0, 0
	for _, host := range trickHosts(otherHost) {
		for _, r := range []trick{{host: host, path: "/"}, {host: host, path: "/", http2: true}} {
			r.serverName = guardedHost
			elsewhere++
			if status, err := r.send(t.Context(), address+":443"); err != nil || status != http.StatusMisdirectedRequest {
				t.Logf("%s: %d, %v", r, status, err)
				wrong++
			}
		}
	}
	c.note("%d requests for a host over a connection for another", elsewhere)
	c.none(wrong, "of them not answered 421")
}

// isGuarded says whether a server that reads paths in some way takes a request for the guarded path of a host. Without a host, that of any
// host is guarded.
func isGuarded(request *http.Request, guarded string, read func(uri string) string) bool {
	host, _, err := net.SplitHostPort(request.Host)
	if err != nil {
		host = request.Host
	}
	served := read(request.RequestURI)
	below := served == guardedPath || strings.HasPrefix(served, guardedPath+"/")
	return below && (guarded == "" || strings.EqualFold(strings.TrimRight(host, "."), guarded))
}

// trick is one request.
type trick struct {
	host, path string
	// text is the request as it is sent over HTTP/1.1, if it is not made of host and path, and fields those of HTTP/2.
	text   string
	fields []string
	http2  bool
	// serverName is that of TLS; without one, there is none.
	serverName string
}

func (r trick) String() string {
	return strings.ReplaceAll(fmt.Sprint(r.serverName, " ", r.host, " ", r.path, " ", r.text, " ", r.fields), "\n", " | ")
}

func (r trick) send(ctx context.Context, address string) (int, error) {
	var config *tls.Config
	if r.serverName != "" {
		config = &tls.Config{ServerName: r.serverName, InsecureSkipVerify: true} //nolint:gosec // what is asked for counts, not who answers
	}
	if !r.http2 {
		text := r.text
		if text == "" {
			text = fmt.Sprintf("GET %s HTTP/1.1\nHost: %s\nConnection: close", r.path, r.host)
		}
		answer, err := live.RawHTTP1(ctx, address, config, text)
		return answer.Status, err
	}
	fields := r.fields
	if fields == nil {
		fields = []string{":authority", r.host, ":path", r.path}
	}
	answer, err := live.RawHTTP2(ctx, address, config, nil, append([]string{":method", "GET", ":scheme", "http"}, fields...)...)
	return answer.Status, err
}

// plainTricks are those that need no TLS: every path with every spelling of a host, and what only one of the protocols can say.
func plainTricks(guarded string, paths []string) []trick {
	var all []trick
	for _, p := range paths {
		for _, h := range trickHosts(guarded) {
			all = append(all, trick{host: h, path: p}, trick{host: h, path: p, http2: true})
		}
		all = append(all,
			trick{text: fmt.Sprintf("GET http://%s%s HTTP/1.1\nHost: %s\nConnection: close", guarded, p, otherHost)},
			trick{text: fmt.Sprintf("GET http://%s.:80%s HTTP/1.1\nHost: %s\nConnection: close", strings.ToUpper(guarded), p, otherHost)},
			trick{text: fmt.Sprintf("GET %s HTTP/1.1\nHost: %s\nHost: %s\nConnection: close", p, otherHost, guarded)},
			trick{text: fmt.Sprintf("GET %s HTTP/1.1\nHost: %s\nHost: %s\nConnection: close", p, guarded, otherHost)},
			trick{text: fmt.Sprintf("GET %s HTTP/1.1\nHost: %s,%s\nConnection: close", p, otherHost, guarded)},
			trick{http2: true, fields: []string{":authority", otherHost, ":path", p, "host", guarded}},
			trick{http2: true, fields: []string{":authority", guarded, ":path", p, "host", otherHost}},
			trick{http2: true, fields: []string{":path", p, "host", guarded}},
			trick{http2: true, fields: []string{":authority", otherHost, ":authority", guarded, ":path", p}},
		)
	}
	return all
}

// tricks makes a Gateway with a guarded rule, and waits until it refuses and the rest is served.
func (w *fixture) tricks(t *testing.T) string {
	t.Helper()
	listeners := []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}}
	for name, host := range map[string]string{"guarded": guardedHost, "other": otherHost} {
		w.Make(t, live.TLSSecret(t, "cert-"+name, host))
		listeners = append(listeners, gwv1.Listener{
			Name: gwv1.SectionName(name), Port: 443, Protocol: gwv1.HTTPSProtocolType, Hostname: new(gwv1.Hostname(host)),
			TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName("cert-" + name)}}},
		})
	}
	address := w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: tricksGateway},
		Spec:       gwv1.GatewaySpec{GatewayClassName: live.GatewayClass, Listeners: listeners},
	})
	guarded := live.HTTPRoute("guarded", tricksGateway, guardedHost, "lenient")
	prefix := guardedPath
	guarded.Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &prefix}}}
	guarded.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{
		ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthHTTPProtocol,
		BackendRef:           gwv1.BackendObjectReference{Name: "deny", Port: new(gwv1.PortNumber(80))},
		HTTPAuthConfig:       &gwv1.HTTPAuthConfig{},
	}}}
	all := live.HTTPRoute("any", tricksGateway, "", "lenient")
	all.Spec.Hostnames = nil
	w.Make(t, guarded, all)
	w.Route(t, "wide", tricksGateway, guardedHost, "lenient")
	w.Route(t, "other", tricksGateway, otherHost, "lenient")
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		for _, want := range []struct {
			trick
			port   string
			status int
		}{
			{trick{host: guardedHost, path: "/"}, ":80", http.StatusOK},
			{trick{host: guardedHost, path: guardedPath}, ":80", http.StatusForbidden},
			{trick{host: otherHost, path: "/"}, ":80", http.StatusOK},
			{trick{host: "any.example.com", path: "/"}, ":80", http.StatusOK},
			{trick{host: otherHost, path: "/", serverName: otherHost}, ":443", http.StatusOK},
			{trick{host: guardedHost, path: guardedPath, serverName: guardedHost}, ":443", http.StatusForbidden},
		} {
			if status, err := want.send(ctx, address+want.port); err != nil || status != want.status {
				return fmt.Errorf("%s is answered %d, want %d: %w", want.trick, status, want.status, err)
			}
		}
		return nil
	})
	return address
}
