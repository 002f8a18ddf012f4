//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// password opens the door of both authorization servers.
const password = "open sesame"

// TestExternalAuth asks authorization servers, which run in the test itself, by gRPC and by HTTP.
func TestExternalAuth(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "gateway")
	for _, protocol := range []gwv1.HTTPRouteExternalAuthProtocol{
		gwv1.HTTPRouteExternalAuthGRPCProtocol, gwv1.HTTPRouteExternalAuthHTTPProtocol,
	} {
		name := strings.ToLower(string(protocol))
		host := name + ".auth.example.com"
		server := w.authServer(t, name, protocol)
		route := live.HTTPRoute(name, "gateway", host, "echo")
		route.Spec.Hostnames = append(route.Spec.Hostnames, gwv1.Hostname("*."+host))
		filter := &gwv1.HTTPExternalAuthFilter{
			ExternalAuthProtocol: protocol,
			BackendRef:           gwv1.BackendObjectReference{Name: gwv1.ObjectName(name), Port: new(gwv1.PortNumber(80))},
			ForwardBody:          &gwv1.ForwardBodyConfig{MaxSize: 100},
		}
		if protocol == gwv1.HTTPRouteExternalAuthHTTPProtocol {
			filter.HTTPAuthConfig = &gwv1.HTTPAuthConfig{Path: "/check", AllowedRequestHeaders: []string{"X-Asked"}}
		} else {
			filter.GRPCAuthConfig = &gwv1.GRPCAuthConfig{AllowedRequestHeaders: []string{"Authorization", "X-Asked"}}
		}
		route.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterExternalAuth, ExternalAuth: filter}}
		w.Make(t, route)
		w.checkAuth(t, address, host, server)
	}
}

func (w *fixture) checkAuth(t *testing.T, address, host string, stop func()) {
	t.Helper()
	headers := map[string]string{"Authorization": password, "X-Asked": "yes", "X-Secret": "not for the server"}
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		r, err := w.ask(ctx, address, host, "small", headers)
		if err == nil && (r.status != http.StatusOK || r.Headers["X-User"] == nil) {
			err = fmt.Errorf("%s: with the password: %d, the backend saw %v", host, r.status, r.Headers)
		}
		return err
	})
	r, err := w.ask(t.Context(), address, host, "small", headers)
	if got := r.Headers["X-Saw"]; err != nil || len(got) != 1 || got[0] != "asked=yes secret= body=small" {
		t.Errorf("%s: the server saw %v, %v", host, got, err)
	}
	for name, c := range map[string]struct {
		body, password string
		want           int
	}{
		"the server refuses":         {body: "small", password: "please", want: http.StatusUnauthorized},
		"a body that is too large":   {body: strings.Repeat("x", 101), password: password, want: http.StatusRequestEntityTooLarge},
		"without a word of any kind": {want: http.StatusUnauthorized},
	} {
		r, err := w.ask(t.Context(), address, host, c.body, map[string]string{"Authorization": c.password})
		if err != nil || r.status != c.want {
			t.Errorf("%s: %s: %d, %v; want %d", host, name, r.status, err, c.want)
		}
	}
	w.checkSpellings(t, address, host)
	stop()
	r, err = w.ask(t.Context(), address, host, "small", headers)
	if err != nil || r.status != http.StatusServiceUnavailable {
		t.Errorf("%s: without an authorization server: %d, %v; want 503", host, r.status, err)
	}
}

// checkSpellings asks for a host, and for those of its wildcard, in other ways. Proxies leave filters out of requests to hosts that have
// no use for them; however it is found, this one has.
func (w *fixture) checkSpellings(t *testing.T, address, host string) {
	t.Helper()
	for _, spelled := range []string{strings.ToUpper(host), host + ":8080", "any." + host, "Any." + host} {
		for password, want := range map[string]int{"please": http.StatusUnauthorized, password: http.StatusOK} {
			r, err := w.ask(t.Context(), address, spelled, "small", map[string]string{"Authorization": password})
			if err != nil || r.status != want {
				t.Errorf("%s: with the password %q: %d, %v; want %d", spelled, password, r.status, err, want)
			}
		}
	}
}

// reply is what came back for a request, and what the echo backend saw if it got there.
type reply struct {
	live.Answer
	status int
	header http.Header
}

// ask posts a body through a Gateway on a connection of its own.
func (w *fixture) ask(ctx context.Context, address, host, body string, headers map[string]string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+live.Host(address)+"/", strings.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("make a request to %s: %w", address, err)
	}
	request.Host = host
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := w.HTTP.Do(request)
	if err != nil {
		return reply{}, fmt.Errorf("request to %s: %w", host, err)
	}
	defer func() { _ = response.Body.Close() }()
	r := reply{status: response.StatusCode, header: response.Header}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return r, fmt.Errorf("answer of %s: %w", host, err)
	}
	if response.StatusCode == http.StatusOK {
		err = r.Read(content)
	}
	return r, err
}

// authServer runs an authorization server in the test.
func (w *fixture) authServer(t *testing.T, name string, protocol gwv1.HTTPRouteExternalAuthProtocol) (stop func()) {
	t.Helper()
	if protocol == gwv1.HTTPRouteExternalAuthHTTPProtocol {
		return w.ServeHere(t, name, httpAuth)
	}
	server := grpc.NewServer()
	authv3.RegisterAuthorizationServer(server, grpcAuth{})
	listener := w.ListenHere(t, name)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return server.Stop
}

func saw(asked, secret, body string) string {
	return fmt.Sprintf("asked=%s secret=%s body=%s", asked, secret, body)
}

func httpAuth(response http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	if request.Header.Get("Authorization") != password || request.URL.Path != "/check/" {
		response.WriteHeader(http.StatusUnauthorized)
		return
	}
	response.Header().Set("X-User", "ali")
	response.Header().Set("X-Saw", saw(request.Header.Get("X-Asked"), request.Header.Get("X-Secret"), string(body)))
	_, _ = response.Write([]byte("an answer whose length must not become the request's"))
}

type grpcAuth struct {
	authv3.UnimplementedAuthorizationServer
}

func (grpcAuth) Check(_ context.Context, request *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	seen := request.GetAttributes().GetRequest().GetHttp()
	if seen.GetHeaders()["authorization"] != password {
		return &authv3.CheckResponse{
			Status: &rpcstatus.Status{Code: int32(codes.Unauthenticated)},
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
				Status: &typev3.HttpStatus{Code: typev3.StatusCode_Unauthorized},
			}},
		}, nil
	}
	body := seen.GetBody() + string(seen.GetRawBody())
	set := func(name, value string) *corev3.HeaderValueOption {
		return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, Value: value}}
	}
	return &authv3.CheckResponse{
		Status: &rpcstatus.Status{Code: int32(codes.OK)},
		HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{Headers: []*corev3.HeaderValueOption{
			set("x-user", "ali"), set("x-saw", saw(seen.GetHeaders()["x-asked"], seen.GetHeaders()["x-secret"], body)),
		}}},
	}, nil
}
