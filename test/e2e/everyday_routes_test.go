//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/refuse"
)

// TestSharesOfBackendsThatRewrite has three backends with weights 1, 2 and 3, each of which gets another path.
func TestSharesOfBackendsThatRewrite(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var seen [3]atomic.Int32
	address := w.Gateway(t, "gateway")
	const host = "shares.example.com"
	route := live.HTTPRoute("shares", "gateway", host, "share-0")
	refs := route.Spec.Rules[0].BackendRefs[:0]
	for i := range seen {
		name, path := fmt.Sprintf("share-%d", i), fmt.Sprintf("/share-%d", i)
		w.ServeHere(t, name, func(response http.ResponseWriter, request *http.Request) {
			if request.URL.Path != path {
				response.WriteHeader(http.StatusTeapot)
			}
			seen[i].Add(1)
		})
		refs = append(refs, gwv1.HTTPBackendRef{
			BackendRef: gwv1.BackendRef{
				BackendObjectReference: gwv1.BackendObjectReference{Name: gwv1.ObjectName(name), Port: new(gwv1.PortNumber(80))},
				Weight:                 new(int32(i + 1)),
			},
			Filters: []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwv1.HTTPURLRewriteFilter{
				Path: &gwv1.HTTPPathModifier{Type: gwv1.FullPathHTTPPathModifier, ReplaceFullPath: &path},
			}}},
		})
	}
	route.Spec.Rules[0].BackendRefs = refs
	w.Make(t, route)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		_, err := get(ctx, address, host, "/", http.StatusOK)
		return err
	})
	for i := range seen {
		seen[i].Store(0)
	}
	const requests = 1200
	for range requests {
		if _, err := get(t.Context(), address, host, "/", http.StatusOK); err != nil {
			t.Fatal(err)
		}
	}
	for i := range seen {
		share, want := float64(seen[i].Load())/requests, float64(i+1)/6
		if math.Abs(share-want) > 0.06 {
			t.Errorf("backend %d has %.1f %% of the requests, want %.1f %%", i, 100*share, 100*want)
		}
	}
}

// TestRedirectKeepsNoForeignPort redirects hosts that are not known beforehand to another scheme.
func TestRedirectKeepsNoForeignPort(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := w.Gateway(t, "gateway")
	route := live.HTTPRoute("secure", "gateway", "", "")
	route.Spec.Hostnames = nil
	route.Spec.Rules[0] = gwv1.HTTPRouteRule{Filters: []gwv1.HTTPRouteFilter{{
		Type: gwv1.HTTPRouteFilterRequestRedirect, RequestRedirect: &gwv1.HTTPRequestRedirectFilter{Scheme: new("https")},
	}}}
	w.Make(t, route)
	for host, want := range map[string]string{
		"redirect.example.com": "https://redirect.example.com/x", "redirect.example.com:8080": "https://redirect.example.com:443/x",
		"redirect.example.com:80": "https://redirect.example.com:443/x",
	} {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			answer, err := get(ctx, address, host, "/x", http.StatusFound)
			if got := answer.Header.Get("Location"); err == nil && got != want {
				err = fmt.Errorf("%s is redirected to %s, want %s", host, got, want)
			}
			return err
		})
	}
}

// TestAppProtocols has routes refer to ports whose appProtocol they cannot speak, or not without a certificate to trust.
func TestAppProtocols(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Gateway(t, "gateway")
	w.Make(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "protocols"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "ws", Port: 80, AppProtocol: new("kubernetes.io/ws")}, {Name: "https", Port: 443, AppProtocol: new("https")},
	}}})
	grpc := grpcRoute("grpc", "grpc.protocol.example.com", grpcRule("a.B", "protocols"))
	secure := live.HTTPRoute("secure", "gateway", "https.protocol.example.com", "protocols")
	secure.Spec.Rules[0].BackendRefs[0].Port = new(gwv1.PortNumber(443))
	w.Make(t, grpc, secure)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(grpc), grpc); err != nil {
			return err
		}
		if err := w.Get(ctx, client.ObjectKeyFromObject(secure), secure); err != nil {
			return err
		}
		for word, status := range map[string]gwv1.RouteStatus{"HTTP/2": grpc.Status.RouteStatus, "BackendTLSPolicy": secure.Status.RouteStatus} {
			if len(status.Parents) != 1 {
				return fmt.Errorf("no status yet: %+v", status)
			}
			c := meta.FindStatusCondition(status.Parents[0].Conditions, string(gwv1.RouteConditionResolvedRefs))
			if c == nil || c.Reason != string(gwv1.RouteReasonUnsupportedProtocol) || !strings.Contains(c.Message, word) {
				return fmt.Errorf("want UnsupportedProtocol and a word about %s: %+v", word, c)
			}
		}
		return nil
	})
}

// TestRewrittenHost rewrites the host by the filter for it and by setting the header; the backend is told what the client asked for.
func TestRewrittenHost(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.ServeHere(t, "saw", func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("X-Saw", request.Host+" "+request.Header.Get("X-Forwarded-Host"))
	})
	address := w.Gateway(t, "gateway")
	byFilter := live.HTTPRoute("filter", "gateway", "filter.host.example.com", "saw")
	byFilter.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwv1.HTTPURLRewriteFilter{Hostname: new(gwv1.PreciseHostname("inner.example"))},
	}}
	byHeader := live.HTTPRoute("header", "gateway", "header.host.example.com", "saw")
	byHeader.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type:                  gwv1.HTTPRouteFilterRequestHeaderModifier,
		RequestHeaderModifier: &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{{Name: "Host", Value: "inner.example"}}},
	}}
	w.Make(t, byFilter, byHeader)
	for _, host := range []string{"filter.host.example.com", "header.host.example.com"} {
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			answer, err := get(ctx, address, host, "/", http.StatusOK)
			if got := answer.Header.Get("X-Saw"); err == nil && got != "inner.example "+host {
				err = fmt.Errorf("the backend of %s saw %q", host, got)
			}
			return err
		})
	}
}

// TestRequestsNoBackendHasSeenAreTriedAgain has a Service of which one of two endpoints refuses connections.
func TestRequestsNoBackendHasSeenAreTriedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.ServeHere(t, "half", func(http.ResponseWriter, *http.Request) {})
	node := w.NodeAddress(t)
	refused := netip.MustParseAddrPort(refuse.At(t, node))
	port := int32(refused.Port())
	w.Make(t, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "refused", Labels: map[string]string{discoveryv1.LabelServiceName: "half"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("here"), Port: &port}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{node}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
	})
	address := w.Gateway(t, "gateway")
	const host = "half.example.com"
	w.Route(t, "half", "gateway", host, "half")
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		_, err := get(ctx, address, host, "/", http.StatusOK)
		return err
	})
	for range 100 {
		if _, err := get(t.Context(), address, host, "/", http.StatusOK); err != nil {
			t.Error(err)
		}
	}
}

// TestRetriesSendWholeBodies has a backend fail once for each request, whose body is larger than what connections buffer.
func TestRetriesSendWholeBodies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	const size = 500 << 10
	var tries, whole atomic.Int32
	w.ServeHere(t, "flaky", func(response http.ResponseWriter, request *http.Request) {
		if n, _ := io.Copy(io.Discard, request.Body); n == size {
			whole.Add(1)
		}
		if tries.Add(1)%2 == 1 {
			response.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = response.Write([]byte("{}"))
	})
	address := w.Gateway(t, "gateway")
	const host = "bodies.example.com"
	route := live.HTTPRoute("bodies", "gateway", host, "flaky")
	route.Spec.Rules[0].Retry = &gwv1.HTTPRouteRetry{Attempts: new(1), Codes: []gwv1.HTTPRouteRetryStatusCode{http.StatusServiceUnavailable}}
	w.Make(t, route)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if r, err := w.ask(ctx, address, host, "", nil); err != nil || r.status != http.StatusOK {
			return fmt.Errorf("answered %d: %w", r.status, err)
		}
		return nil
	})
	tries.Store(0)
	whole.Store(0)
	for range 10 {
		if r, err := w.ask(t.Context(), address, host, strings.Repeat("x", size), nil); err != nil || r.status != http.StatusOK {
			t.Errorf("answered %d, %v", r.status, err)
		}
	}
	if tries.Load() != 20 || whole.Load() != 20 {
		t.Errorf("%d tries for 10 requests, %d with the whole body; want 20 of both", tries.Load(), whole.Load())
	}
}
