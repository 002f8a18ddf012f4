//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

const port80 = ":80"

// get sends a path and a host as they are written, and says what is wrong with the status of the answer.
func get(ctx context.Context, address, host, path string, want int) (live.RawAnswer, error) {
	answer, err := live.RawHTTP1(ctx, address+port80, nil, fmt.Sprintf("GET %s HTTP/1.1\nHost: %s\nConnection: close", path, host))
	if err == nil && answer.Status != want {
		err = fmt.Errorf("%s%s is answered %d, want %d", host, path, answer.Status, want)
	}
	return answer, err
}

// TestRouteThatCannotBeServedKeepsItsRequests has a route whose only rule has a filter that nothing serves, beside a wider one for the
// same host. However its path and host are spelled, no request of it is served by the wider route.
func TestRouteThatCannotBeServedKeepsItsRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "gateway")
	const host = "unserved.example.com"
	w.Route(t, "wide", "gateway", host, "echo")
	w.WaitServed(t, address, host)
	guarded := live.HTTPRoute("guarded", "gateway", host, "echo")
	path := "/admin"
	guarded.Spec.Rules[0].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &path}}}
	guarded.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
		Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{Group: "x.example", Kind: "Auth", Name: "oidc"},
	}}
	w.Make(t, guarded)
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		_, err := get(ctx, address, host, path, http.StatusInternalServerError)
		return err
	})
	for _, spelled := range []string{"/admin/x", "//admin", "/./admin", "/x/../admin", "/%61dmin", "/x/%2e%2e/admin"} {
		if _, err := get(t.Context(), address, host, spelled, http.StatusInternalServerError); err != nil {
			t.Error(err)
		}
	}
	if _, err := get(t.Context(), address, host+".", "/admin", http.StatusInternalServerError); err != nil {
		t.Error(err)
	}
	if _, err := get(t.Context(), address, host+".", "/other", http.StatusOK); err != nil {
		t.Error(err)
	}
	for spelled, plain := range map[string]string{
		"/%2Fadmin": "/admin", "/x/..%2fadmin": "/admin", "/%5cadmin": "/admin", "/%2f%2Fother": "/other",
	} {
		answer, err := get(t.Context(), address, host, spelled, http.StatusTemporaryRedirect)
		if err != nil || answer.Header.Get("Location") != plain {
			t.Errorf("%s is redirected to %q, %v; want %s", spelled, answer.Header.Get("Location"), err, plain)
		}
	}
}

// TestGRPCRouteWithoutBackendIsUnavailable calls rules of a GRPCRoute that have nowhere to send a call, and one that has half.
func TestGRPCRouteWithoutBackendIsUnavailable(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.serveGRPC(t, "grpc")
	address := w.Gateway(t, "gateway")
	const host = "unavailable.example.com"
	w.Make(t, grpcRoute("calls", host, grpcRule("a.Nothing", "none"), grpcRule("a.Half", "grpc", "none"), grpcRule("a.All", "grpc")))
	call := func(ctx context.Context, service string) (string, error) {
		answer, err := live.RawHTTP2(ctx, address+port80, nil, emptyMessage, ":method", "POST", ":scheme", "http", ":authority", host,
			":path", "/"+service+"/Call", "content-type", "application/grpc", "te", "trailers")
		if err == nil && answer.Status != http.StatusOK {
			err = fmt.Errorf("%s is answered %d", service, answer.Status)
		}
		return answer.Header.Get("grpc-status"), err
	}
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		status, err := call(ctx, "a.All")
		if err == nil && status != "0" {
			err = fmt.Errorf("a call ends with status %s", status)
		}
		return err
	})
	const unavailable = "14"
	if status, err := call(t.Context(), "a.Nothing"); err != nil || status != unavailable {
		t.Errorf("a call to no backend ends with status %s, %v; want %s", status, err, unavailable)
	}
	seen := map[string]int{}
	for range 60 {
		status, err := call(t.Context(), "a.Half")
		if err != nil {
			t.Fatal(err)
		}
		seen[status]++
	}
	if seen["0"] == 0 || seen[unavailable] == 0 || len(seen) != 2 {
		t.Errorf("calls of which half have a backend end with %v", seen)
	}
}

// grpcRoute sends a host to rules.
func grpcRoute(name, host string, rules ...gwv1.GRPCRouteRule) *gwv1.GRPCRoute {
	return &gwv1.GRPCRoute{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gwv1.GRPCRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: "gateway"}}},
			Hostnames:       []gwv1.Hostname{gwv1.Hostname(host)}, Rules: rules,
		},
	}
}

// grpcRule sends the calls of a service to Services, in equal shares.
func grpcRule(service string, backends ...gwv1.ObjectName) gwv1.GRPCRouteRule {
	rule := gwv1.GRPCRouteRule{Matches: []gwv1.GRPCRouteMatch{{Method: &gwv1.GRPCMethodMatch{Service: &service}}}}
	for _, name := range backends {
		rule.BackendRefs = append(rule.BackendRefs, gwv1.GRPCBackendRef{BackendRef: gwv1.BackendRef{
			BackendObjectReference: gwv1.BackendObjectReference{Name: name, Port: new(gwv1.PortNumber(80))},
		}})
	}
	return rule
}
