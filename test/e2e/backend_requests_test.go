//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

var requestPolicies = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [requests.example.com]
  rules:
    - {name: plain, backendRefs: [{name: here, port: 80}]}
    - {name: patient, matches: [{path: {value: /slow/patient}}], backendRefs: [{name: here, port: 80}]}
    - {name: flaky, matches: [{path: {value: /flaky}}], backendRefs: [{name: here, port: 80}]}
    - {name: limited, matches: [{path: {value: /limited}}], backendRefs: [{name: here, port: 80}]}
    - {name: aborted, matches: [{path: {value: /aborted}}], backendRefs: [{name: here, port: 80}]}
    - {name: delayed, matches: [{path: {value: /delayed}}], backendRefs: [{name: here, port: 80}]}
    - {name: packed, matches: [{path: {value: /large}}], backendRefs: [{name: here, port: 80}]}
    - {name: buffered, matches: [{path: {value: /buffered}}], backendRefs: [{name: here, port: 80}]}
    - {name: costly, matches: [{path: {value: /costly}}], backendRefs: [{name: here, port: 80}]}
    - {name: narrow, matches: [{path: {value: /large/narrow}}], backendRefs: [{name: here, port: 80}]}
    - {name: shed, matches: [{path: {value: /error/shed}}], backendRefs: [{name: here, port: 80}]}
    - {name: replaced, matches: [{path: {value: /error/replaced}}], backendRefs: [{name: here, port: 80}]}
    - {name: moved, matches: [{path: {value: /error/moved}}], backendRefs: [{name: here, port: 80}]}
    - {name: upgraded, matches: [{path: {value: /upgrade/allowed}}], backendRefs: [{name: here, port: 80}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: all}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway}]
  timeout: {http: {requestTimeout: 1s}}` + rulePolicy("patient", "timeout: {http: {requestTimeout: 10s}}") +
	rulePolicy("flaky", "retry: {numRetries: 2, retryOn: {httpStatusCodes: [503]}, perRetry: {backOff: {baseInterval: 10ms}}}") +
	rulePolicy("limited", `rateLimit: {local: {rules: [
    {clientSelectors: [{headers: [{name: x-user, type: Distinct}]}], limit: {requests: 3, unit: Hour},
      xRateLimitHeaders: DraftVersion03}]}}`) +
	rulePolicy("costly", `rateLimit: {local: {rules: [{clientSelectors: [{methods: [{value: GET}]}], limit: {requests: 3, unit: Hour},
      cost: {request: {from: Number, number: 2}}}]}}`) +
	rulePolicy("narrow", `bandwidthLimit: {response: {limit: {value: 1Ki, unit: Second}}}
  timeout: {http: {requestTimeout: 10s}}`) +
	rulePolicy("shed", "admissionControl: {minSuccessRate: 100, maxRejectionPercent: 90}") +
	rulePolicy("replaced", `responseOverride:
    - {match: {statusCodes: [{type: Range, range: {start: 500, end: 599}}]}, source: Local, response: {statusCode: 599}}
    - match: {statusCodes: [{type: Range, range: {start: 500, end: 599}}], responseHeaders: [{name: x-kind, value: {value: planned}}]}
      response: {statusCode: 503, contentType: text/html, body: {inline: "<p style='width: 100%'>back soon, %REQ(x-request)%</p>"},
        header: {set: [{name: retry-after, value: "5"}]}}`) +
	rulePolicy("moved", `responseOverride:
    - {match: {statusCodes: [{value: 500}]}, redirect: {hostname: new.example, path: {type: ReplaceFullPath, replaceFullPath: /x}}}`) +
	rulePolicy("upgraded", "httpUpgrade: [{type: spdy/3.1}]") +
	rulePolicy("aborted", "faultInjection: {abort: {httpStatus: 418}}") +
	rulePolicy("delayed", "faultInjection: {delay: {fixedDelay: 400ms}}") +
	rulePolicy("packed", "compressor: [{type: Zstd}, {type: Gzip}]") +
	rulePolicy("buffered", "requestBuffer: {limit: 1Ki}")

// rulePolicy is a BackendTrafficPolicy for a rule of the route, with the name of the rule.
func rulePolicy(rule, settings string) string {
	return `
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: ` + rule + `}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: route, sectionName: ` + rule + `}]
  ` + settings
}

// handler is the backend of these tests: slow, flaky, large or plain, by its path.
func handler() http.HandlerFunc {
	var lock sync.Mutex
	attempts := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case strings.HasPrefix(r.URL.Path, "/slow"):
			select {
			case <-time.After(2 * time.Second):
			case <-r.Context().Done():
			}
		case strings.HasPrefix(r.URL.Path, "/flaky"):
			lock.Lock()
			defer lock.Unlock()
			id := r.Header.Get("X-Request")
			if attempts[id]++; attempts[id] < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		case strings.HasPrefix(r.URL.Path, "/error"):
			w.Header().Set("X-Kind", "planned")
			w.WriteHeader(http.StatusInternalServerError)
			return
		case strings.HasPrefix(r.URL.Path, "/upgrade"):
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
			w.WriteHeader(http.StatusSwitchingProtocols)
			return
		case strings.HasPrefix(r.URL.Path, "/large"):
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte(strings.Repeat("a", 4096)))
			return
		}
		w.Header().Set("X-Remote", r.RemoteAddr)
		_, _ = io.WriteString(w, "{}")
	}
}

// policyProgrammed waits until proxies have the present generation of BackendTrafficPolicies.
func (w *fixture) policyProgrammed(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			p := &v1alpha1.BackendTrafficPolicy{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, p); err != nil {
				return fmt.Errorf("read the policy: %w", err)
			}
			c := meta.FindStatusCondition(p.Status.Conditions, "Programmed")
			if c == nil || c.Status != "True" || c.ObservedGeneration != p.Generation {
				return fmt.Errorf("BackendTrafficPolicy %s: %+v", name, p.Status.Conditions)
			}
			return nil
		})
	}
}

// editPolicy changes a BackendTrafficPolicy.
func (w *fixture) editPolicy(t *testing.T, name string, edit func(*v1alpha1.BackendTrafficPolicySpec)) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		p := &v1alpha1.BackendTrafficPolicy{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, p); err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
		edit(&p.Spec)
		return w.Update(ctx, p)
	})
}

// TestRequestPolicies: what BackendTrafficPolicies on a Gateway and on rules do with requests. Editing one closes no connection.
func TestRequestPolicies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := w.gatewayAt(t)
	w.ServeHere(t, "here", handler())
	w.makeYAML(t, requestPolicies)
	w.policyProgrammed(t, "all", "patient", "flaky", "limited", "aborted", "delayed", "packed", "buffered", "costly", "narrow", "shed",
		"replaced", "moved", "upgraded")
	const host = "requests.example.com"
	status := func(want int) func(exchange) string { return func(e exchange) string { return check(e.status, want) } }
	once := func(s step) {
		t.Helper()
		e, err := visit(t.Context(), address, host, s.path, s.headers...)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if wrong := s.wrong(e); wrong != "" {
			t.Errorf("%s: %s (%d %v %s)", s.name, wrong, e.status, e.header, e.body)
		}
	}
	w.WaitServed(t, address, host)
	connection := keptConnection(t, address, host)
	for _, s := range []step{
		{"the timeout of the Gateway", "/slow", nil, status(504)},
		{"the timeout of a rule", "/slow/patient", nil, status(200)},
		{"an answer to try again", "/flaky", []string{"X-Request", "1"}, status(200)},
		{"a fault", "/aborted", nil, status(418)},
		{"gzip", "/large", []string{"Accept-Encoding", "gzip"}, func(e exchange) string {
			return check(e.status, 200, e.header.Get("Content-Encoding"), "gzip", len(e.body) < 1000, true)
		}},
		{"the first compressor is preferred", "/large", []string{"Accept-Encoding", "gzip, zstd"}, func(e exchange) string {
			return check(e.status, 200, e.header.Get("Content-Encoding"), "zstd", len(e.body) < 1000, true)
		}},
		{"no compression that is not asked for", "/large", []string{"Accept-Encoding", "identity"}, func(e exchange) string {
			return check(e.status, 200, e.header.Get("Content-Encoding"), "", len(e.body), 4096)
		}},
		{"a response that is replaced", "/error/replaced", []string{"X-Request", "2"}, func(e exchange) string {
			return check(e.status, 503, e.body, "<p style='width: 100%'>back soon, 2</p>", e.header.Get("Retry-After"), "5",
				e.header.Get("Content-Type"), "text/html")
		}},
		{"a response that becomes a redirect", "/error/moved", nil, func(e exchange) string {
			return check(e.status, 302, e.header.Get("Location"), "http://new.example/x")
		}},
		{"a request that counts twice", "/costly", nil, status(200)},
		{"another one", "/costly", nil, status(429)},
		{"a protocol that a rule allows", "/upgrade/allowed", []string{"Connection", "Upgrade", "Upgrade", "spdy/3.1"}, status(101)},
		{"a protocol that no policy allows", "/upgrade", []string{"Connection", "Upgrade", "Upgrade", "spdy/3.1"}, status(403)},
		{"request 1 of a user", "/limited", []string{"X-User", "a"}, func(e exchange) string {
			return check(e.status, 200, e.header.Get("X-RateLimit-Remaining"), "2")
		}},
		{"request 2 of a user", "/limited", []string{"X-User", "a"}, status(200)},
		{"request 3 of a user", "/limited", []string{"X-User", "a"}, status(200)},
		{"request 4 of a user", "/limited", []string{"X-User", "a"}, status(429)},
		{"another user", "/limited", []string{"X-User", "b"}, status(200)},
	} {
		once(s)
	}
	began := time.Now()
	once(step{"a delay", "/delayed", nil, status(200)})
	// Envoy's timers count from the time at which its event loop woke up, which is a little before the request was read.
	if took := time.Since(began); took < 390*time.Millisecond {
		t.Errorf("a delay of 400ms took %s", took)
	}
	began = time.Now()
	once(step{"4 KiB at 1 KiB in each second", "/large/narrow", nil, status(200)})
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("4 KiB at 1 KiB in each second took %s", took)
	}
	shed := 0
	for range 60 {
		if e, err := visit(t.Context(), address, host, "/error/shed"); err == nil && e.status == http.StatusServiceUnavailable {
			shed++
		}
	}
	if shed < 5 {
		t.Errorf("of 60 requests to a backend that fails, %d were rejected", shed)
	}
	for size, want := range map[int]int{512: http.StatusOK, 2048: http.StatusRequestEntityTooLarge} {
		if got := post(t, address, host, "/buffered", size); got != want {
			t.Errorf("a body of %d bytes: %d, want %d", size, got, want)
		}
	}

	// The settings of requests are in no listener, so an edit keeps connections.
	w.editPolicy(t, "all", func(s *v1alpha1.BackendTrafficPolicySpec) { s.Timeout.HTTP.RequestTimeout = new(gwv1.Duration("5s")) })
	w.editPolicy(t, "aborted", func(s *v1alpha1.BackendTrafficPolicySpec) { s.FaultInjection = nil; s.Retry = &v1alpha1.BackendRetry{} })
	w.policyProgrammed(t, "all", "aborted")
	once(step{"the new timeout of the Gateway", "/slow", nil, status(200)})
	once(step{"a fault that is gone", "/aborted", nil, status(200)})
	if err := connection(t.Context()); err != nil {
		t.Error(err)
	}
}

// keptConnection opens a connection; the function sends a request and fails unless it took the same connection.
func keptConnection(t *testing.T, address, host string) func(context.Context) error {
	t.Helper()
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	reused := false
	ask := func(ctx context.Context) error {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, "80")+"/", http.NoBody)
		if err != nil {
			return fmt.Errorf("make a request: %w", err)
		}
		request.Host = host
		response, err := transport.RoundTrip(request)
		if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		return response.Body.Close()
	}
	if err := ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error {
		if err := ask(ctx); err != nil {
			return err
		}
		if !reused {
			return errors.New("the connection was closed by an edit of a policy")
		}
		return nil
	}
}

func post(t *testing.T, address, host, path string, size int) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+net.JoinHostPort(address, "80")+path,
		strings.NewReader(strings.Repeat("a", size)))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

var overriding = `
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: strict}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway}]
  strategy: Overrides
  timeout: {http: {requestTimeout: 1s}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [overrides.example.com]
  rules:
    - {name: patient, backendRefs: [{name: here, port: 80}]}
    - {name: inline, matches: [{path: {value: /inline}}], timeouts: {request: 10s}, backendRefs: [{name: here, port: 80}]}` + rulePolicy("patient", "timeout: {http: {requestTimeout: 10s}}")

// TestOverridingPolicy: no policy below an override changes its setting, and says so. A field of a route is not replaced silently.
func TestOverridingPolicy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := w.gatewayAt(t)
	w.ServeHere(t, "here", handler())
	w.makeYAML(t, overriding)
	w.expect(t, address, "overrides.example.com", []step{
		{"a rule whose policy is overridden", "/slow", nil, func(e exchange) string { return check(e.status, 504) }},
		{"a rule with a timeout of its own", "/inline", nil, func(e exchange) string { return check(e.status, 500) }},
	})
	w.policySays(t, "patient", "Overridden", "strict")
	w.policySays(t, "strict", "PartiallyProgrammed", "rule 1 of HTTPRoute "+w.Namespace+"/route has timeouts.request of its own")
}

// policySays waits until a BackendTrafficPolicy has a condition with that reason, and the text in its message.
func (w *fixture) policySays(t *testing.T, name, reason, text string) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		p := &v1alpha1.BackendTrafficPolicy{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, p); err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
		for _, c := range p.Status.Conditions {
			if c.Reason == reason && strings.Contains(c.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("BackendTrafficPolicy %s has no reason %s with %q: %+v", name, reason, text, p.Status)
	})
}
