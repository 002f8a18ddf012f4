//go:build translation

package translation

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/test/modelreader"
)

// readers are the servers of a test, by the names of their Services.
type readers map[string]extprocv3.ExternalProcessorServer

// modelGateway is a live Envoy with two hosts: models.example has filters and sends each model to a backend of its own, and plain.example
// has none and sends everything to the backend `plain`.
type modelGateway struct {
	address string
	// seen counts the requests that reached a backend.
	seen atomic.Int64
	// stop ends the servers by name.
	stop map[string]func()
}

func serveModels(t *testing.T, servers readers, auth http.HandlerFunc, filters ...ir.ListenerFilter) *modelGateway {
	t.Helper()
	return serveModelsAt(t, len(filters), servers, auth, filters...)
}

// serveModelsAt has a listener with so many places for filters.
func serveModelsAt(t *testing.T, places int, servers readers, auth http.HandlerFunc, filters ...ir.ListenerFilter) *modelGateway {
	t.Helper()
	g := &modelGateway{stop: map[string]func(){}}
	var clusters []*clusterv3.Cluster
	models := ir.VirtualHost{Domain: "models.example", Filters: filters}
	for _, name := range []string{"a", "b", "plain"} {
		clusters = append(clusters, at(cluster.Cluster(svc(name), cluster.Options{}), g.backend(t, name)))
		if name != "plain" {
			models.Rules = append(models.Rules, ruleFor(name, ir.NamedMatch{Name: modelreader.Header, StringMatch: ir.StringMatch{Value: name}}))
		}
	}
	for name, server := range servers {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		grpcServer := grpc.NewServer()
		extprocv3.RegisterExternalProcessorServer(grpcServer, server)
		go func() { _ = grpcServer.Serve(listener) }()
		t.Cleanup(grpcServer.Stop)
		g.stop[name] = grpcServer.Stop
		clusters = append(clusters, at(cluster.Cluster(reader(name), cluster.Options{}), listener.Addr().String()))
	}
	if auth != nil {
		server := httptest.NewServer(auth)
		t.Cleanup(server.Close)
		clusters = append(clusters, at(cluster.Cluster(svc("auth"), cluster.Options{}), server.Listener.Addr().String()))
	}
	table := route.Table(ir.TableID{Gateway: "a/b"}, true)
	for _, host := range []ir.VirtualHost{models, {Domain: "plain.example", Rules: []ir.Rule{ruleFor("plain")}}} {
		vh, invalid := route.VirtualHost(host)
		if len(invalid) > 0 {
			t.Fatalf("not valid: %v", invalid)
		}
		table.VirtualHosts = append(table.VirtualHosts, vh)
	}
	g.address = runEnvoy(t, &bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{testListener(table, places)}, Clusters: clusters,
	}})
	return g
}

func ruleFor(backend string, headers ...ir.NamedMatch) ir.Rule {
	return ir.Rule{
		Name: "HTTPRoute/a/" + backend + "/0/0", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: "/"}, Headers: headers},
		Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: svc(backend), Weight: 1}}},
	}
}

// reader is the Service of a server.
func reader(name string) ir.Backend {
	return ir.Backend{Object: ir.Name{Namespace: "shop", Name: name}, Port: 9000, Protocol: ir.BackendHTTP2}
}

// backend answers with its name, and what it got.
func (g *modelGateway) backend(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.seen.Add(1)
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(w, "%s got %s %s%s %v %d %s", //nolint:gosec // a test reads it, and no browser
			name, r.Method, r.Host, r.URL.Path, r.Header.Values(modelreader.Header), n, r.Header.Get("X-Steps"))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// ask sends a request to a host, and returns the status and the body of the answer. Without a body it is a GET.
func (g *modelGateway) ask(t *testing.T, host string, body io.Reader, headers ...string) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+g.address+"/v1", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// late is a body whose end comes after the server has answered about the headers.
func late(body string) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		for _, part := range []string{body[:len(body)/2], body[len(body)/2:]} {
			_, _ = io.WriteString(writer, part)
			time.Sleep(100 * time.Millisecond)
		}
		_ = writer.Close()
	}()
	return reader
}

const (
	modelsHost, plainHost = "models.example", "plain.example"
	modelA, modelB        = `{"model":"a"}`, `{"model":"b"}`
)

// routedCase is a request, and where it has to arrive, or the status that it has to be answered with.
type routedCase struct {
	body    string
	late    bool
	headers []string
	want    string
	status  int
}

// check sends a request. One that is answered with an error must not reach a backend.
func (g *modelGateway) check(t *testing.T, name string, c routedCase) {
	t.Helper()
	var body io.Reader
	switch {
	case c.late:
		body = late(c.body)
	case c.body != "":
		body = strings.NewReader(c.body)
	}
	before := g.seen.Load()
	status, text := g.ask(t, modelsHost, body, c.headers...)
	if c.want != "" {
		c.status = http.StatusOK
	}
	if status != c.status || !strings.HasPrefix(text, c.want) || status != http.StatusOK && g.seen.Load() != before {
		t.Errorf("%s: %d %s, want %d %s", name, status, text, c.status, c.want)
	}
}

func modelCases(long int) map[string]routedCase {
	padding, forged := strings.Repeat(" ", long), []string{modelreader.Header, "b"}
	return map[string]routedCase{
		"a model":                         {body: modelA, want: "a got POST models.example/v1 [a] 13"},
		"another model":                   {body: modelB, want: "b got POST models.example/v1 [b] 13"},
		"a long prompt":                   {body: modelB + padding, want: fmt.Sprintf("b got POST models.example/v1 [b] %d", long+13)},
		"a forged header":                 {body: modelA, headers: forged, want: "a got POST models.example/v1 [a]"},
		"a forged header and a late body": {body: modelA, late: true, headers: forged, want: "a got POST models.example/v1 [a]"},
		"a forged header, twice":          {body: modelA, headers: append(forged, "X-MODEL", "b"), want: "a got POST models.example/v1 [a]"},
		"an unknown model":                {body: `{"model":"c"}`, headers: forged, status: 404},
		"a forged header without a body":  {headers: forged, status: 404},
		"a forged header without a model": {body: `{}`, headers: forged, status: 404},
		"a body that is no JSON":          {body: `model: a`, headers: forged, status: 404},
	}
}

// TestModelsAreRoutedByTheBody: a server of a listener reads the model from the body, and the route is chosen by it.
func TestModelsAreRoutedByTheBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode ir.BodyMode
		long int
	}{{ir.BodyBuffered, 20 << 10}, {ir.BodyFullDuplex, 2 << 20}} {
		t.Run(string(c.mode), func(t *testing.T) {
			t.Parallel()
			server := &modelreader.Server{}
			g := serveModels(t, readers{"reader": server}, nil, ir.ListenerFilter{ExtProc: &ir.ExtProc{
				Backend: reader("reader"), Timeout: new(10 * time.Second), Request: &ir.ExtProcMessage{Body: c.mode},
			}})
			for range 10 {
				for name, request := range modelCases(c.long) {
					g.check(t, name, request)
				}
			}
			asked := server.Asked()
			if status, text := g.ask(t, plainHost, strings.NewReader(modelA), modelreader.Header, "x"); status != 200 ||
				!strings.HasPrefix(text, "plain got") || server.Asked() != asked || asked == 0 {
				t.Errorf("a host without filters: %d %s, asked %d times of %d", status, text, server.Asked(), asked)
			}
			g.stop["reader"]()
			for name, request := range modelCases(c.long) {
				request.want, request.status = "", 500
				g.check(t, name+", without a server", request)
			}
			if status, text := g.ask(t, plainHost, strings.NewReader(modelA)); status != 200 {
				t.Errorf("a host without filters, without a server: %d %s", status, text)
			}
		})
	}
}

// TestNoRequestPassesWithoutAPlaceForItsFilters: connections that a listener has accepted before it got a filter go on for a while.
func TestNoRequestPassesWithoutAPlaceForItsFilters(t *testing.T) {
	t.Parallel()
	filters := []ir.ListenerFilter{toServer("one"), toServer("two")}
	accept := scripted{answer: func(*extprocv3.ProcessingRequest) *extprocv3.ProcessingResponse {
		return changed(map[string]string{modelreader.Header: "a"})
	}}
	for places, want := range map[int]routedCase{0: {status: 421}, 1: {status: 421}, 2: {want: "a got"}, 3: {want: "a got"}} {
		g := serveModelsAt(t, places, readers{"one": accept, "two": accept}, nil, filters...)
		want.headers = []string{modelreader.Header, "b"}
		g.check(t, fmt.Sprintf("%d places", places), want)
		if status, text := g.ask(t, plainHost, nil); status != 200 {
			t.Errorf("%d places, a host without filters: %d %s", places, status, text)
		}
	}
}

// scripted answers each message as a test says.
type scripted struct {
	extprocv3.UnimplementedExternalProcessorServer

	answer func(*extprocv3.ProcessingRequest) *extprocv3.ProcessingResponse
}

// Process implements [extprocv3.ExternalProcessorServer].
func (s scripted) Process(stream extprocv3.ExternalProcessor_ProcessServer) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the proxy has ended the stream
		}
		if err := stream.Send(s.answer(message)); err != nil {
			return err
		}
	}
}

func changed(headers map[string]string) *extprocv3.ProcessingResponse {
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestHeaders{
		RequestHeaders: &extprocv3.HeadersResponse{Response: setHeaders(headers)},
	}}
}

// TestServersOfListenersKeepToTheirListener: what a server must not change stays as it is.
func TestServersOfListenersKeepToTheirListener(t *testing.T) {
	t.Parallel()
	forbidden := map[string]string{
		":authority": plainHost, "host": plainHost, "Host": plainHost, ":method": http.MethodDelete, ":scheme": "https",
		"x-gatewright-hops": strings.Repeat("1", 20), "x-gatewright-scope": "a/b|" + plainHost, "x-envoy-original-path": "/other",
	}
	server := scripted{answer: func(m *extprocv3.ProcessingRequest) *extprocv3.ProcessingResponse {
		name := headersOf(m.GetRequestHeaders()).Get("x-change")
		return changed(map[string]string{modelreader.Header: "a", name: forbidden[name]})
	}}
	g := serveModels(t, readers{"bad": server}, nil, toServer("bad"))
	for name := range forbidden {
		g.check(t, name, routedCase{headers: []string{"X-Change", name}, want: "a got GET models.example/v1 [a]"})
	}
}

// toServer is a filter of a listener that sends the headers of requests to a server.
func toServer(name string) ir.ListenerFilter {
	return ir.ListenerFilter{ExtProc: &ir.ExtProc{Backend: reader(name), Timeout: new(10 * time.Second), Request: &ir.ExtProcMessage{}}}
}

// TestFiltersOfAListenerKeepTheirOrder: authorization and servers run in the order of the list, and each sees what those before it changed.
func TestFiltersOfAListenerKeepTheirOrder(t *testing.T) {
	t.Parallel()
	adds := func(step string) scripted {
		return scripted{answer: func(m *extprocv3.ProcessingRequest) *extprocv3.ProcessingResponse {
			before := headersOf(m.GetRequestHeaders()).Get("x-steps")
			return changed(map[string]string{"x-steps": before + step, modelreader.Header: step})
		}}
	}
	var denied atomic.Bool
	auth := func(w http.ResponseWriter, r *http.Request) {
		if denied.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
		w.Header().Set("X-Steps", r.Header.Get("X-Steps")+"-")
	}
	steps := []string{"x-steps"}
	ask := ir.ListenerFilter{Auth: &ir.ExternalAuth{Backend: svc("auth"), RequestHeaders: steps, ResponseHeaders: steps}}
	for want, filters := range map[string][]ir.ListenerFilter{
		"a got GET models.example/v1 [a] 0 b-a": {toServer("b"), ask, toServer("a")},
		"b got GET models.example/v1 [b] 0 -ab": {ask, toServer("a"), toServer("b")},
	} {
		denied.Store(false)
		g := serveModels(t, readers{"a": adds("a"), "b": adds("b")}, auth, filters...)
		g.check(t, "allowed", routedCase{want: want})
		denied.Store(true)
		g.check(t, "denied", routedCase{status: 403})
	}
}

// TestServersOfListenersChooseWhatTheySee: a server may do without a body, and cannot have it in a mode in which it would come too late.
func TestServersOfListenersChooseWhatTheySee(t *testing.T) {
	t.Parallel()
	server := scripted{answer: func(m *extprocv3.ProcessingRequest) *extprocv3.ProcessingResponse {
		if m.GetRequestBody() != nil {
			return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{
				RequestBody: &extprocv3.BodyResponse{Response: setHeaders(map[string]string{modelreader.Header: "a"})},
			}}
		}
		mode := modev3.ProcessingMode_BodySendMode_value[headersOf(m.GetRequestHeaders()).Get("x-mode")]
		answer := changed(map[string]string{modelreader.Header: "b"})
		answer.ModeOverride = &modev3.ProcessingMode{RequestBodyMode: modev3.ProcessingMode_BodySendMode(mode)}
		return answer
	}}
	filter := toServer("reader")
	filter.ExtProc.Request.Body, filter.ExtProc.ModeOverride = ir.BodyBuffered, true
	g := serveModels(t, readers{"reader": server}, nil, filter)
	for mode, want := range map[modev3.ProcessingMode_BodySendMode]string{
		modev3.ProcessingMode_NONE:             "b got POST",
		modev3.ProcessingMode_BUFFERED:         "a got POST",
		modev3.ProcessingMode_BUFFERED_PARTIAL: "a got POST",
		modev3.ProcessingMode_STREAMED:         "a got POST",
	} {
		g.check(t, mode.String(), routedCase{body: modelB, late: true, headers: []string{"X-Mode", mode.String()}, want: want})
	}
}

// TestTokensOfModelsAreCounted: the server of a listener reads the tokens of responses, and the rate limit service counts them.
func TestTokensOfModelsAreCounted(t *testing.T) {
	t.Parallel()
	counted := &counter{hits: map[string]uint64{}}
	limits, models := grpc.NewServer(), grpc.NewServer()
	rlsv3.RegisterRateLimitServiceServer(limits, counted)
	extprocv3.RegisterExternalProcessorServer(models, &modelreader.Server{})
	service := svc("limits")
	service.Protocol = ir.BackendHTTP2
	host := guarded(&ir.RequestPolicy{GlobalRateLimit: &ir.GlobalRateLimit{Policy: policyName, Backend: service, Rules: []ir.GlobalRateRule{{
		ID: "tokens", Shared: true, RateRule: ir.RateRule{Cost: &ir.RateCost{}},
		ResponseCost: &ir.RateCost{Format: "%DYNAMIC_METADATA(" + modelreader.Namespace + ":" + modelreader.Key + ")%"},
	}}}})
	filter := toServer("reader")
	filter.ExtProc.Response, filter.ExtProc.Writable = &ir.ExtProcMessage{Body: ir.BodyStreamed}, []string{modelreader.Namespace}
	host.Filters = []ir.ListenerFilter{filter}
	p := startProxy(t, host, map[string]http.Handler{
		"limits": limits, "reader": models, "echo": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"usage":`)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, `{"total_tokens":12}}`)
		}),
	})
	if status, err := p.send(t.Context(), asked{}); status != 200 || err != nil {
		t.Fatalf("the first request: %d, %v", status, err)
	}
	p.eventually(t, asked{name: "a limit that tokens used up", want: 429})
	if got := counted.take()["rule=app/policy/tokens"]; got < 12 || got%12 != 0 {
		t.Errorf("%d tokens were counted", got)
	}
}
