//go:build translation

package translation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/test/refuse"
)

// inferencePool is a pool of a test: model servers, and a picker if it has one.
type inferencePool struct {
	name     string
	servers  []string
	picker   *picker
	failOpen bool
	// broken says that the picker cannot be used.
	broken bool
	// h2c says that the servers speak HTTP/2.
	h2c    bool
	weight uint32
}

func (p *inferencePool) backend() ir.Backend {
	protocol := ir.BackendHTTP1
	if p.h2c {
		protocol = ir.BackendHTTP2
	}
	return ir.Backend{Kind: ir.KindInferencePool, Object: ir.Name{Namespace: "shop", Name: p.name}, Protocol: protocol}
}

func (p *inferencePool) pickerBackend() ir.Backend {
	protocol := ir.BackendHTTP2
	if p.picker.certs != nil {
		protocol = ir.BackendPicker
	}
	return ir.Backend{Object: ir.Name{Namespace: "shop", Name: p.name + "-picker"}, Port: 9002, Protocol: protocol}
}

func (p *inferencePool) weighted() ir.WeightedBackend {
	w := ir.WeightedBackend{Backend: p.backend(), Weight: max(p.weight, 1)}
	if p.picker != nil {
		w.Picker = &ir.EndpointPicker{Backend: p.pickerBackend(), FailOpen: p.failOpen, Broken: p.broken}
	}
	return w
}

// clusters are those of the pool and its picker, with addresses instead of endpoints that are discovered.
func (p *inferencePool) clusters() []*clusterv3.Cluster {
	all := []*clusterv3.Cluster{at(cluster.Cluster(p.backend(), cluster.Options{Picker: p.weighted().Picker}), p.servers...)}
	if p.picker == nil {
		return all
	}
	policy := &ir.DestinationPolicy{}
	if p.picker.certs != nil {
		policy.TLS = &ir.BackendTLS{Settings: &ir.BackendTLSSettings{SkipVerify: true}}
	}
	c := cluster.Cluster(p.pickerBackend(), cluster.Options{Policy: policy})
	if p.picker.address == "" {
		return append(all, at(c))
	}
	return append(all, at(c, p.picker.address))
}

func at(c *clusterv3.Cluster, addresses ...string) *clusterv3.Cluster {
	group := &endpointv3.LocalityLbEndpoints{}
	for _, address := range addresses {
		host, number, _ := net.SplitHostPort(address)
		port, _ := strconv.Atoi(number)
		group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
			Endpoint: &endpointv3.Endpoint{Address: socketAddress(host, port)},
		}})
	}
	c.ClusterDiscoveryType, c.EdsClusterConfig = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, nil
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: c.GetName(), Endpoints: []*endpointv3.LocalityLbEndpoints{group}}
	return c
}

// toPools is a rule that shares requests among pools. What answers 503 is tried again.
func toPools(path string, pools ...*inferencePool) ir.Rule {
	rule := ir.Rule{
		Name: "HTTPRoute/a/b/0/0", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: path}}, Forward: &ir.Forward{},
		Policy: &ir.RequestPolicy{Retry: &ir.Retry{Attempts: 3, Codes: []uint32{http.StatusServiceUnavailable}}},
	}
	for _, p := range pools {
		rule.Forward.Backends = append(rule.Forward.Backends, p.weighted())
	}
	return rule
}

// servePools runs an Envoy with one rule for each list of pools: the first at /, the others at /1, /2 and so on.
func servePools(t *testing.T, rules ...[]*inferencePool) string {
	t.Helper()
	host := ir.VirtualHost{Domain: "*"}
	var clusters []*clusterv3.Cluster
	seen := map[string]bool{}
	for i := len(rules) - 1; i >= 0; i-- {
		path := "/"
		if i > 0 {
			path = fmt.Sprintf("/%d", i)
		}
		host.Rules = append(host.Rules, toPools(path, rules[i]...))
		for _, p := range rules[i] {
			if !seen[p.name] {
				seen[p.name] = true
				clusters = append(clusters, p.clusters()...)
			}
		}
	}
	return serveHost(t, host, clusters...)
}

// serveHost runs an Envoy with a virtual host.
func serveHost(t *testing.T, host ir.VirtualHost, clusters ...*clusterv3.Cluster) string {
	t.Helper()
	vh, invalid := route.VirtualHost(host)
	if len(invalid) > 0 {
		t.Fatalf("not valid: %v", invalid)
	}
	table := route.Table(ir.TableID{Gateway: "a/b"}, false)
	table.VirtualHosts = []*routev3.VirtualHost{vh}
	return runEnvoy(t, &bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{testListener(table, len(host.Filters))}, Clusters: clusters,
	}})
}

// model is a model server. It says who it is, and how many bytes it got.
func model(t *testing.T, name string) (address string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		sum := sha256.New()
		n, _ := io.Copy(sum, r.Body)
		w.Header().Set("x-model", name)
		w.Header().Set("x-destination", r.Header.Get(ir.DestinationEndpoint))
		_, _ = fmt.Fprintf(w, "%d %s", n, hex.EncodeToString(sum.Sum(nil)))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), requests
}

// answerTo is what a model server says to a body.
func answerTo(body string) string {
	sum := sha256.Sum256([]byte(body))
	return fmt.Sprintf("%d %s", len(body), hex.EncodeToString(sum[:]))
}

// reply is what a client gets.
type reply struct {
	status int
	header http.Header
	body   string
}

func prompt(t *testing.T, url string, body []byte, headers ...string) (reply, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	method, reader := http.MethodGet, io.Reader(http.NoBody)
	if body != nil {
		method, reader = http.MethodPost, bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(content)}, err
}

var question = []byte(`{"model":"any","prompt":"why?"}`)

// TestWeightedPools: each pool of a rule is decided about by its own picker, and no request of a Service by any.
func TestWeightedPools(t *testing.T) {
	t.Parallel()
	pools := map[string]*inferencePool{}
	for name, weight := range map[string]uint32{"blue": 70, "green": 30} {
		one, _ := model(t, name)
		two, _ := model(t, name)
		p := &inferencePool{name: name, servers: []string{one, two}, weight: weight}
		p.picker = newPicker(t, name, func(http.Header) choice { return both(one) })
		pools[name] = p
	}
	address := servePools(t, []*inferencePool{pools["blue"], pools["green"]})
	count := map[string]int{}
	const requests = 1000
	for i := range requests {
		body := question
		if i%2 == 0 {
			body = nil
		}
		r, err := prompt(t, "http://"+address, body)
		name := r.header.Get("x-model")
		if err != nil || r.status != http.StatusOK || r.header.Get("x-picker") != name ||
			r.header.Get("x-destination") != pools[name].servers[0] {
			t.Fatalf("request %d: %+v, %v", i, r, err)
		}
		count[name]++
	}
	for name, p := range pools {
		asked, served, _ := p.picker.seen()
		if asked != count[name] || len(served) != count[name] {
			t.Errorf("pool %s served %d requests, its picker decided %d and was told of %d", name, count[name], asked, len(served))
		}
		for _, endpoint := range served {
			if endpoint != p.servers[0] {
				t.Fatalf("picker %s was told of %q", name, endpoint)
			}
		}
	}
	if count["blue"] < 600 || count["blue"] > 800 {
		t.Errorf("shares: %v", count)
	}
}

// TestOrderOfEndpoints: endpoints that fail are followed by the next of the list, and the picker is told of the one that served.
func TestOrderOfEndpoints(t *testing.T) {
	t.Parallel()
	good, _ := model(t, "good")
	other, reachedOther := model(t, "other")
	unavailable := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(unavailable.Close)
	gone, busy := refuse.At(t, "127.0.0.1"), unavailable.Listener.Addr().String()
	p := &inferencePool{name: "pool", servers: []string{gone, busy, good, other}}
	for name, c := range map[string]choice{
		"header and metadata": both(gone, busy, good),
		"header":              {header: gone + ", " + busy + "," + good},
		"metadata":            {metadata: gone + "," + busy + "," + good},
	} {
		p.picker = newPicker(t, name, func(http.Header) choice { return c })
		address := servePools(t, []*inferencePool{p})
		for range 20 {
			if r, err := prompt(t, "http://"+address, question); err != nil || r.header.Get("x-model") != "good" {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
		}
		if _, served, _ := p.picker.seen(); len(served) != 20 || served[19] != good {
			t.Errorf("%s: served: %v", name, served)
		}
	}
	if reachedOther.Load() > 0 {
		t.Errorf("%d requests went to an endpoint that was not chosen", reachedOther.Load())
	}
}

// TestEndOfTheList: a pool that fails closed is served by no endpoint that its picker did not choose, with and without retries.
func TestEndOfTheList(t *testing.T) {
	t.Parallel()
	other, reached := model(t, "other")
	gone := refuse.At(t, "127.0.0.1")
	asked := newPicker(t, "picker", func(http.Header) choice { return both(gone) })
	shut := &inferencePool{name: "closed", servers: []string{gone, other}, picker: asked}
	open := &inferencePool{name: "open", servers: []string{gone, other}, picker: asked, failOpen: true}
	host := ir.VirtualHost{Domain: "*", Rules: []ir.Rule{toPools("/retried", shut), toPools("/once", shut), toPools("/open", open)}}
	host.Rules[1].Policy, host.Rules[2].Policy = nil, nil
	address := serveHost(t, host, append(shut.clusters(), open.clusters()...)...)
	for _, path := range []string{"/retried", "/once"} {
		for _, body := range [][]byte{nil, question} {
			for range 10 {
				if r, err := prompt(t, "http://"+address+path, body); err != nil || r.status != http.StatusServiceUnavailable {
					t.Errorf("%s with a body of %d bytes: %+v, %v, want 503", path, len(body), r, err)
				}
			}
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests went to an endpoint that was not chosen", n)
	}
	for range 10 {
		if r, err := prompt(t, "http://"+address+"/open", nil); err != nil || r.header.Get("x-model") != "other" {
			t.Errorf("FailOpen: %+v, %v", r, err)
		}
	}
}

// TestOnlyEndpointsOfThePool: neither a picker nor a client sends a request anywhere else.
func TestOnlyEndpointsOfThePool(t *testing.T) {
	t.Parallel()
	one, _ := model(t, "one")
	two, _ := model(t, "two")
	foreign, reached := model(t, "foreign")
	_, port, _ := net.SplitHostPort(foreign)
	for _, endpoints := range []string{
		foreign, "localhost:" + port, "[::1]:" + port, "0.0.0.0:" + port, "127.0.0.2:" + port, "[::ffff:127.0.0.1]:" + port,
		"169.254.169.254:80", "[fd00:ec2::254]:80", "one", "", ",,", foreign + "," + foreign,
	} {
		asked := newPicker(t, "picker", func(http.Header) choice { return both(endpoints) })
		open := &inferencePool{name: "open", servers: []string{one, two}, picker: asked, failOpen: true}
		shut := &inferencePool{name: "closed", servers: []string{one, two}, picker: asked}
		address := servePools(t, []*inferencePool{open}, []*inferencePool{shut})
		for range 20 {
			r, err := prompt(t, "http://"+address, question, ir.DestinationEndpoint, foreign)
			if name := r.header.Get("x-model"); err != nil || name != "one" && name != "two" {
				t.Errorf("FailOpen, %q: %+v, %v", endpoints, r, err)
			}
			r, err = prompt(t, "http://"+address+"/1", question, ir.DestinationEndpoint, foreign)
			if err != nil || r.status != http.StatusServiceUnavailable || r.header.Get("x-model") != "" {
				t.Errorf("FailClose, %q: %+v, %v", endpoints, r, err)
			}
		}
		asked.stop()
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests left the pool", n)
	}
	for name, c := range map[string]choice{"header": {header: one}, "metadata": {metadata: one}} {
		p := &inferencePool{name: "pool", servers: []string{one, two}}
		p.picker = newPicker(t, name, func(http.Header) choice { return c })
		address := servePools(t, []*inferencePool{p})
		for range 20 {
			if r, err := prompt(t, "http://"+address, question, ir.DestinationEndpoint, two); err != nil || r.header.Get("x-model") != "one" {
				t.Fatalf("%s: a client chose an endpoint: %+v, %v", name, r, err)
			}
		}
	}
}

// TestManyPools: one without a picker is load balanced, whatever a client asks for, and 200 beside it are decided about.
func TestManyPools(t *testing.T) {
	t.Parallel()
	one, _ := model(t, "one")
	two, _ := model(t, "two")
	plain := &inferencePool{name: "plain", servers: []string{one, two}}
	rules := [][]*inferencePool{{plain}}
	const pools = 200
	shared := newPicker(t, "shared", func(http.Header) choice { return both(two) })
	for i := range pools {
		rules = append(rules, []*inferencePool{{name: fmt.Sprintf("pool%d", i), servers: []string{one, two}, picker: shared}})
	}
	address := servePools(t, rules...)
	count := map[string]int{}
	for range 100 {
		r, err := prompt(t, "http://"+address, question, ir.DestinationEndpoint, two)
		if err != nil || r.status != http.StatusOK || r.header.Get("x-picker") != "" {
			t.Fatalf("without a picker: %+v, %v", r, err)
		}
		count[r.header.Get("x-model")]++
	}
	if count["one"] == 0 || count["two"] == 0 {
		t.Errorf("load is not balanced: %v", count)
	}
	for i := range pools {
		r, err := prompt(t, fmt.Sprintf("http://%s/%d", address, i+1), question)
		if err != nil || r.header.Get("x-model") != "two" || r.header.Get("x-picker") != "shared" {
			t.Fatalf("pool %d: %+v, %v", i, r, err)
		}
	}
}

func selfSigned() *tls.Certificate {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return &server.TLS.Certificates[0]
}

// TestPickerByTLS: the certificate of the picker is its own.
func TestPickerByTLS(t *testing.T) {
	t.Parallel()
	one, _ := model(t, "one")
	two, _ := model(t, "two")
	p := &inferencePool{name: "pool", servers: []string{one, two}}
	p.picker = &picker{name: "secure", address: "127.0.0.1:0", certs: selfSigned(), choose: func(http.Header) choice { return both(two) }}
	p.picker.start(t)
	t.Cleanup(p.picker.stop)
	address := servePools(t, []*inferencePool{p})
	for range 20 {
		if r, err := prompt(t, "http://"+address, question); err != nil || r.header.Get("x-model") != "two" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

// TestPromptsAndTokens: prompts of any size pass, tokens arrive one by one, and a client that leaves ends the request.
func TestPromptsAndTokens(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	large := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	sum := sha256.Sum256(large)
	one, _ := model(t, "one")
	next, left := make(chan struct{}), make(chan struct{})
	stream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; ; i++ {
			_, _ = fmt.Fprintf(w, "data: token %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				close(left)
				return
			}
		}
	}))
	t.Cleanup(stream.Close)
	whole := &inferencePool{name: "whole", servers: []string{one}}
	whole.picker = newPicker(t, "whole", func(http.Header) choice { return both(one) })
	tokens := &inferencePool{name: "tokens", servers: []string{stream.Listener.Addr().String()}}
	tokens.picker = newPicker(t, "tokens", func(http.Header) choice { return both(tokens.servers...) })
	plain := &inferencePool{name: "plain", servers: []string{one}}
	address := servePools(t, []*inferencePool{whole}, []*inferencePool{tokens}, []*inferencePool{plain})

	r, err := prompt(t, "http://"+address, large)
	if want := fmt.Sprintf("%d %s", size, hex.EncodeToString(sum[:])); err != nil || r.body != want {
		t.Errorf("a large prompt: %d %s, %v, want %s", r.status, r.body, err, want)
	}
	if _, _, got := whole.picker.seen(); got != size {
		t.Errorf("the picker saw %d bytes", got)
	}

	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/1", bytes.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	// Each token is sent when the one before has arrived, so that one which is held back is never followed.
	for i := range 20 {
		want := fmt.Sprintf("data: token %d\n\n", i)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != want {
			t.Fatalf("token %d: %q, %v", i, got, err)
		}
		if i < 19 {
			next <- struct{}{}
		}
	}
	cancel()
	select {
	case <-left:
	case <-time.After(timeout):
		t.Error("the request goes on without its client")
	}
	t.Logf("time to the first byte: %v by a picker, %v without", median(t, "http://"+address), median(t, "http://"+address+"/2"))
}

// median is the median of the times from the start of a short request to the first byte of its response.
func median(t *testing.T, url string) time.Duration {
	t.Helper()
	var times []time.Duration
	for range 101 {
		var first time.Duration
		start := time.Now()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Since(start) }})
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		if _ = response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		times = append(times, first)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// TestSubsetOfAPool: an Extension that runs before the picker tells it which endpoints it must choose from.
func TestSubsetOfAPool(t *testing.T) {
	t.Parallel()
	one, _ := model(t, "one")
	two, _ := model(t, "two")
	p := &inferencePool{name: "pool", servers: []string{one, two}}
	p.picker = newPicker(t, "picker", func(http.Header) choice { return both(one) })
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	extprocv3.RegisterExternalProcessorServer(server, subsetter{endpoints: []any{two}})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	extension := ir.ExtProc{
		Backend: ir.Backend{Object: ir.Name{Namespace: "shop", Name: "subsetter"}, Port: 9003, Protocol: ir.BackendHTTP2},
		Request: &ir.ExtProcMessage{}, Writable: []string{ir.SubsetMetadata}, Timeout: new(timeout),
	}
	rule := toPools("/", p)
	rule.Extensions = &ir.Extensions{List: []ir.Extension{{ExtProc: &extension}}}
	clusters := append(p.clusters(), at(cluster.Cluster(extension.Backend, cluster.Options{}), listener.Addr().String()))
	address := serveHost(t, ir.VirtualHost{Domain: "*", Rules: []ir.Rule{rule}}, clusters...)
	for _, body := range [][]byte{nil, question} {
		for range 20 {
			if r, err := prompt(t, "http://"+address, body); err != nil || r.header.Get("x-model") != "two" || r.header.Get("x-picker") == "" {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
}
