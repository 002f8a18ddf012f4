package xds_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/prometheus/client_golang/prometheus"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/xds"
)

const (
	clusterURL  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	secretURL   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	listenerURL = "type.googleapis.com/envoy.config.listener.v3.Listener"
	peerURL     = "type.googleapis.com/envoy.service.status.v3.ClientConfig"
	routeURL    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

	// timeout is long enough for anything that has to come. All tests with a server run in a bubble of synctest.
	timeout = 20 * time.Second
	// quiet is for how long nothing may be heard, in fake time.
	quiet = 150 * time.Millisecond
)

// control is a server under test and the authority that vouches for it.
type control struct {
	t        *testing.T
	cache    *xds.Cache
	metrics  *prometheus.Registry
	ca       *authority
	listener *bufconn.Listener
}

type options struct {
	observer      xds.Observer
	closed        bool
	authenticator xds.Authenticator
	log           io.Writer
	prepare       func(*xds.Server)
}

// pod is the name of a proxy where nothing else is said.
const pod = "pod-1"

// tokenOf is the token by which the proxies of a Gateway are known.
func tokenOf(group xds.GroupID, pod string) string { return "proxy-of:" + group.String() + "@" + pod }

// anyGateway knows the proxies of every Gateway by their tokens.
type anyGateway struct{}

func (anyGateway) Authenticate(_ context.Context, token string) (xds.Proof, error) {
	proxy, ok := strings.CutPrefix(token, "proxy-of:")
	text, name, complete := strings.Cut(proxy, "@")
	group, known := xds.ParseGroupID(text)
	if !ok || !complete || !known {
		return xds.Proof{}, status.Error(codes.Unauthenticated, "not a proxy")
	}
	return xds.Proof{Identity: xds.Identity{Group: group, Pod: name}, Expires: time.Now().Add(time.Hour)}, nil
}

// bearer sends a token with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}
func (bearer) RequireTransportSecurity() bool { return true }

// start runs a server on a network in memory: goroutines that wait for a socket would keep the time of a bubble from passing.
func start(t *testing.T, o options) *control {
	t.Helper()
	c := &control{
		t: t, cache: xds.NewCache(), metrics: prometheus.NewRegistry(), ca: newAuthority(t), listener: bufconn.Listen(64 << 10),
	}
	if !o.closed {
		c.cache.Open()
	}
	if o.authenticator == nil {
		o.authenticator = anyGateway{}
	}
	if o.log == nil {
		o.log = io.Discard
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := xds.NewServer(c.cache, o.authenticator, slog.New(slog.NewTextHandler(o.log, nil)), c.metrics, o.observer)
	server.ServePeers(cachev3.NewLinearCache(peerURL), peerURL)
	if o.prepare != nil {
		o.prepare(server)
	}
	done := make(chan error, 1)
	go func() {
		done <- server.Serve(ctx, c.listener, &tls.Config{
			MinVersion:   tls.VersionTLS13,
			Certificates: []tls.Certificate{c.ca.issue(t)},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

// dial opens a connection whose calls carry a token, or none if it is empty.
func (c *control) dial(token string) *grpc.ClientConn {
	c.t.Helper()
	dialing := []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: c.ca.pool, ServerName: "localhost"})),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.listener.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256 << 20)),
	}
	if token != "" {
		dialing = append(dialing, grpc.WithPerRPCCredentials(bearer(token)))
	}
	connection, err := grpc.NewClient("passthrough:///memory", dialing...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// proxy is a hand-written delta client.
type proxy struct {
	t          *testing.T
	connection *grpc.ClientConn
	stream     discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	responses  chan *discoveryv3.DeltaDiscoveryResponse
	disconnect context.CancelFunc
	// ended is how the stream ended; it may be read when responses is closed.
	ended error
	// last is the last response of each type that was received.
	last map[string]*discoveryv3.DeltaDiscoveryResponse
}

// connectAs opens a stream of one of several proxies.
func (c *control) connectAs(pod string) *proxy {
	c.t.Helper()
	return c.open(group, pod).reading()
}

// connect opens a stream of a proxy of a Gateway.
func (c *control) connect(group xds.GroupID) *proxy {
	c.t.Helper()
	return c.connectWithoutReading(group).reading()
}

// reading receives what the proxy is sent from now on.
func (p *proxy) reading() *proxy {
	go func() {
		defer close(p.responses)
		for {
			response, err := p.stream.Recv()
			if err != nil {
				p.ended = err
				return
			}
			p.responses <- response
		}
	}()
	return p
}

func (c *control) connectWithoutReading(group xds.GroupID) *proxy {
	c.t.Helper()
	return c.open(group, pod)
}

func (c *control) open(group xds.GroupID, pod string) *proxy {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	connection := c.dial(tokenOf(group, pod))
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return &proxy{
		t: c.t, connection: connection, stream: stream, responses: make(chan *discoveryv3.DeltaDiscoveryResponse, 1000), disconnect: cancel,
		last: map[string]*discoveryv3.DeltaDiscoveryResponse{},
	}
}

func (p *proxy) send(request *discoveryv3.DeltaDiscoveryRequest) {
	p.t.Helper()
	if err := p.stream.Send(request); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func (p *proxy) subscribe(url string, names ...string) {
	p.t.Helper()
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, ResourceNamesSubscribe: names})
}

func (p *proxy) receive() *discoveryv3.DeltaDiscoveryResponse {
	p.t.Helper()
	select {
	case response, ok := <-p.responses:
		if !ok {
			p.t.Fatal("the stream is over")
		}
		p.last[response.GetTypeUrl()] = response
		return response
	case <-time.After(timeout):
		p.t.Fatal("no response")
	}
	return nil
}

// take receives a response and acknowledges it.
func (p *proxy) take() *discoveryv3.DeltaDiscoveryResponse {
	p.t.Helper()
	response := p.receive()
	p.acknowledge(response)
	return response
}

func (p *proxy) acknowledge(response *discoveryv3.DeltaDiscoveryResponse) {
	p.t.Helper()
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.GetTypeUrl(), ResponseNonce: response.GetNonce()})
}

func (p *proxy) refuse(response *discoveryv3.DeltaDiscoveryResponse, reason string) {
	p.t.Helper()
	p.send(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: response.GetTypeUrl(), ResponseNonce: response.GetNonce(), ErrorDetail: &rpcstatus.Status{Message: reason},
	})
}

func (p *proxy) hearsNothing() {
	p.t.Helper()
	time.Sleep(quiet)
	synctest.Wait()
	select {
	case response := <-p.responses:
		p.t.Fatalf("unexpected response: %v", response)
	default:
	}
}

// expect takes a response and compares what it brings and removes.
func (p *proxy) expect(url string, names, removed []string) *discoveryv3.DeltaDiscoveryResponse {
	p.t.Helper()
	response := p.take()
	check(p.t, response, url, names, removed)
	return response
}

func check(t *testing.T, response *discoveryv3.DeltaDiscoveryResponse, url string, names, removed []string) {
	t.Helper()
	got := make([]string, 0, len(response.GetResources()))
	for _, resource := range response.GetResources() {
		got = append(got, resource.GetName())
	}
	if response.GetTypeUrl() != url || !equal(got, names) || !equal(response.GetRemovedResources(), removed) {
		t.Fatalf("got %s %v, removed %v; want %s %v, removed %v", response.GetTypeUrl(), got, response.GetRemovedResources(), url, names, removed)
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &authority{certificate: certificate, key: key, pool: pool}
}

func (a *authority) issue(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func resource(t testing.TB, message proto.Message) *xds.Resource {
	t.Helper()
	r, err := xds.NewResource(message)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The builders below make small resources that differ in their note.

func cluster(t testing.TB, group xds.GroupID, name, note string) xds.Change {
	message := &clusterv3.Cluster{Name: name, AltStatName: note}
	return xds.Change{Group: group, Type: xds.Cluster, Name: name, Endpoints: "eds/" + name, Resource: resource(t, message)}
}

func listener(t testing.TB, name, note string) xds.Change {
	return xds.Change{Group: group, Type: xds.Listener, Name: name, Resource: resource(t, &listenerv3.Listener{Name: name, StatPrefix: note})}
}

func secret(t testing.TB, group xds.GroupID, name, note string) xds.Change {
	message := &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(note)}},
	}}}
	return xds.Change{Group: group, Type: xds.Secret, Name: name, Resource: resource(t, message)}
}

func table(t testing.TB, group xds.GroupID, name string) xds.Change {
	return xds.Change{Group: group, Type: xds.RouteTable, Name: name, Resource: resource(t, &routev3.RouteConfiguration{Name: name})}
}

func host(t testing.TB, domain, note string) xds.Change {
	message := &routev3.VirtualHost{Name: domain + note, Domains: []string{domain}}
	return xds.Change{Group: group, Type: xds.VirtualHost, Table: "t1", Name: domain, Resource: resource(t, message)}
}

func assignment(t testing.TB, name string, port uint32) *xds.Resource {
	return resource(t, &endpointv3.ClusterLoadAssignment{
		ClusterName: name,
		Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{
				Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address: "10.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
				}},
			}}},
		}}}},
	})
}

func removed(change xds.Change) xds.Change {
	change.Resource, change.Endpoints = nil, ""
	return change
}
