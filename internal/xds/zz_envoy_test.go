package xds_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/xds"
)

func must(m proto.Message) *anypb.Any { a, err := anypb.New(m); if err != nil { panic(err) }; return a }

func adsSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{ResourceApiVersion: corev3.ApiVersion_V3, InitialFetchTimeout: durationpb.New(0), ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}
}
func addr(port int) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)}}}}
}
func eCluster(t *testing.T, name string) xds.Change {
	return xds.Change{Group: group, Type: xds.Cluster, Name: name, Endpoints: "eds/" + name, Resource: resource(t, &clusterv3.Cluster{Name: name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}, EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource(), ServiceName: "eds/" + name}})}
}
func eListener(t *testing.T, name, table string, port int, secretName string) xds.Change {
	h := &hcmv3.HttpConnectionManager{StatPrefix: "x", RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{ConfigSource: adsSource(), RouteConfigName: table}},
		HttpFilters: []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: must(&routerv3.Router{})}}}}
	chain := &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: must(h)}}}}
	if secretName != "" {
		chain.TransportSocket = &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: must(&tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: secretName, SdsConfig: adsSource()}}}})}}
	}
	return xds.Change{Group: group, Type: xds.Listener, Name: name, Resource: resource(t, &listenerv3.Listener{Name: name, Address: addr(port), FilterChains: []*listenerv3.FilterChain{chain}})}
}
func eHost(t *testing.T, table, domain, cluster string) xds.Change {
	return xds.Change{Group: group, Type: xds.VirtualHost, Table: table, Name: domain, Resource: resource(t, &routev3.VirtualHost{Name: domain, Domains: []string{domain}, Routes: []*routev3.Route{{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}}}}})}
}
func eEndpoints(t *testing.T, name, backend string) *xds.Resource {
	u, _ := url.Parse(backend)
	p, _ := strconv.Atoi(u.Port())
	return resource(t, &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: addr(p)}}}}}}})
}
func freePort() int { l, _ := net.Listen("tcp", "127.0.0.1:0"); defer l.Close(); return l.Addr().(*net.TCPAddr).Port }

func get(port int, host string) (int, string) {
	req, _ := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil { return 0, err.Error() }
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	begin := time.Now()
	for !f() {
		if time.Since(begin) > 15*time.Second { t.Errorf("never: %s", what); return }
		time.Sleep(time.Millisecond)
	}
	t.Logf("%s after %s", what, time.Since(begin))
}

func TestRealEnvoy(t *testing.T) {
	binary := os.Getenv("ENVOY_BINARY")
	if binary == "" { t.Skip() }
	dir := t.TempDir()
	ca := newAuthority(t)
	write := func(name string, blocks ...*pem.Block) string {
		var b bytes.Buffer
		for _, x := range blocks { _ = pem.Encode(&b, x) }
		_ = os.WriteFile(dir+"/"+name, b.Bytes(), 0o600)
		return dir + "/" + name
	}
	cert := ca.issue(t, xds.Identity(group))
	key, _ := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	caFile := write("ca.pem", &pem.Block{Type: "CERTIFICATE", Bytes: ca.certificate.Raw})
	certFile := write("cert.pem", &pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	keyFile := write("key.pem", &pem.Block{Type: "PRIVATE KEY", Bytes: key})
	xdsPort, admin, http1, https, http3 := freePort(), freePort(), freePort(), freePort(), freePort()
	boot := fmt.Sprintf(`
node: {id: spoofed, cluster: other}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}
dynamic_resources:
  ads_config: {api_type: DELTA_GRPC, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: xds}}]}
  cds_config: {ads: {}, resource_api_version: V3, initial_fetch_timeout: 0s}
  lds_config: {ads: {}, resource_api_version: V3, initial_fetch_timeout: 0s}
static_resources:
  clusters:
  - name: xds
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {"@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {http2_protocol_options: {connection_keepalive: {interval: 30s, timeout: 5s}}}}}
    load_assignment: {cluster_name: xds, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]}
    transport_socket:
      name: tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: localhost
        common_tls_context:
          tls_params: {tls_minimum_protocol_version: TLSv1_3, tls_maximum_protocol_version: TLSv1_3}
          tls_certificates: [{certificate_chain: {filename: %s}, private_key: {filename: %s}}]
          validation_context: {trusted_ca: {filename: %s}, match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: localhost}}]}
`, admin, xdsPort, certFile, keyFile, caFile)
	_ = os.WriteFile(dir+"/boot.yaml", []byte(boot), 0o600)

	backend := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	one, two := backend("one"), backend("two")
	j := make(journal, 100000)
	go func() { for line := range j { if len(line) > 200 { line = line[:200] }; fmt.Println(time.Now().Format("05.000"), line) } }()

	serve := func(cache *xds.Cache) (func(), *control) {
		var l net.Listener
		var err error
		for range 100 { if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", xdsPort)); err == nil { break }; time.Sleep(50 * time.Millisecond) }
		if err != nil { t.Fatal(err) }
		ctx, cancel := context.WithCancel(context.Background())
		c := &control{t: t, metrics: prometheus.NewRegistry()}
		s := xds.NewServer(cache, slog.Default(), c.metrics, j)
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Serve(ctx, l, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{ca.issue(t, "spiffe://gatewright.dev/control-plane")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool}) }()
		return func() { cancel(); <-done }, c
	}
	state := []xds.Change{eCluster(t, "c1"), eListener(t, "l1", "t1", http1, ""), table(t, group, "t1"), eHost(t, "t1", "a.example", "c1")}
	cache := xds.NewCache()
	cache.Apply(state)
	cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": eEndpoints(t, "eds/c1", one)})
	cache.Open()
	stop, c := serve(cache)

	logFile, _ := os.Create("/tmp/xdsenvoy/envoy.log")
	cmd := exec.Command(binary, "-c", dir+"/boot.yaml", "--concurrency", "1", "--disable-hot-restart", "-l", "info", "--component-log-level", "config:debug,upstream:info")
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil { t.Fatal(err) }
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()

	eventually(t, "a.example answers", func() bool { s, b := get(http1, "a.example"); return s == 200 && b == "one" })
	cache.Apply([]xds.Change{eHost(t, "t1", "b.example", "c1")})
	eventually(t, "b.example answers", func() bool { s, b := get(http1, "b.example"); return s == 200 && b == "one" })
	cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": eEndpoints(t, "eds/c1", two)})
	eventually(t, "endpoints moved", func() bool { s, b := get(http1, "b.example"); return s == 200 && b == "two" })

	// Under load, move the route between fresh clusters, removing the old one in the same Apply.
	var failed, total atomic.Int64
	quit := make(chan struct{})
	worker := make(chan struct{})
	go func() {
		defer close(worker)
		for { select { case <-quit: return; default: }
			if s, b := get(http1, "a.example"); s != 200 { if failed.Add(1) < 5 { fmt.Println("FAILED", s, b) } }
			total.Add(1) }
	}()
	previous := "c1"
	for i := range 40 {
		next := fmt.Sprintf("n%d", i)
		cache.ApplyEndpoints(map[string]*xds.Resource{"eds/" + next: eEndpoints(t, "eds/"+next, one)})
		cache.Apply([]xds.Change{eCluster(t, next), eHost(t, "t1", "a.example", next), eHost(t, "t1", "b.example", next), removed(eCluster(t, previous))})
		previous = next
		time.Sleep(50 * time.Millisecond)
	}
	close(quit); <-worker
	t.Logf("moved 40 times in one Apply each: %d of %d requests failed", failed.Load(), total.Load())

	// Restart with the same content: nothing but empty answers.
	fmt.Println("---- restart")
	fmt.Println(c.measured())
	stop()
	second := xds.NewCache()
	second.ApplyEndpoints(map[string]*xds.Resource{"eds/" + previous: eEndpoints(t, "eds/"+previous, one)})
	second.Apply([]xds.Change{eCluster(t, previous), eListener(t, "l1", "t1", http1, ""), table(t, group, "t1"), eHost(t, "t1", "b.example", previous), eHost(t, "t1", "a.example", previous)})
	stop, c = serve(second)
	time.Sleep(500 * time.Millisecond)
	second.Open()
	eventually(t, "reconnected", func() bool { return c.measured()["gatewright_xds_connected_proxies"] == 1 })
	time.Sleep(time.Second)
	t.Logf("after reconnect: %v", c.measured())

	// Missing secret and missing route table.
	fmt.Println("---- missing")
	second.Apply([]xds.Change{eListener(t, "l2", "t1", https, "s-late"), eListener(t, "l3", "t-late", http3, ""), eCluster(t, "nobody")})
	time.Sleep(2 * time.Second)
	r, _ := http.Get(fmt.Sprintf("http://127.0.0.1:%d/listeners", admin))
	b, _ := io.ReadAll(r.Body)
	t.Logf("active listeners while missing: %s", strings.ReplaceAll(string(b), "\n", " "))
	s, body := get(http3, "x.example")
	t.Logf("missing table: %d %s", s, body)
	_, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", https), &tls.Config{InsecureSkipVerify: true})
	t.Logf("missing secret: %v", err)
	late := ca.issue(t, "spiffe://x/y")
	lateKey, _ := x509.MarshalPKCS8PrivateKey(late.PrivateKey)
	second.Apply([]xds.Change{table(t, group, "t-late"), eHost(t, "t-late", "x.example", previous),
		{Group: group, Type: xds.Secret, Name: "s-late", Resource: resource(t, &tlsv3.Secret{Name: "s-late", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: late.Certificate[0]})}},
			PrivateKey:       &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: lateKey})}},
		}}})}})
	eventually(t, "late table serves", func() bool { s, _ := get(http3, "x.example"); return s == 200 })
	eventually(t, "late secret serves", func() bool {
		conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", https), &tls.Config{InsecureSkipVerify: true})
		if err == nil { conn.Close() }
		return err == nil
	})
	// Removing used secret and table, and refused listener.
	second.Apply([]xds.Change{removed(table(t, group, "t-late")), {Group: group, Type: xds.Secret, Name: "s-late"}, eListener(t, "dup", "t1", http1, "")})
	time.Sleep(time.Second)
	s, _ = get(http3, "x.example")
	t.Logf("removed table: %d", s)
	conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", https), &tls.Config{InsecureSkipVerify: true})
	t.Logf("removed secret: %v", err)
	if err == nil { conn.Close() }
	t.Logf("end: %v", c.measured())

	// A fresh Envoy whose cluster has an unpublished assignment must boot.
	_ = cmd.Process.Kill(); _ = cmd.Wait()
	second.Apply([]xds.Change{removed(eListener(t, "dup", "", http1, "")), removed(eListener(t, "l2", "", 1, "")), removed(eListener(t, "l3", "", 1, ""))})
	cmd = exec.Command(binary, "-c", dir+"/boot.yaml", "--concurrency", "1", "--disable-hot-restart", "-l", "info")
	cmd.Stdout, cmd.Stderr = logFile, logFile
	_ = cmd.Start()
	eventually(t, "fresh Envoy with an empty assignment serves", func() bool { s, _ := get(http1, "a.example"); return s == 200 })
	stop()
}
