//go:build fuzz

package fuzz

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/geoip"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// envoy is a running proxy. It has a network of its own with nothing in it, so that it may bind any port and reach no other host; files are
// its only way to the outside. It has a /run of its own, with databases in it.
type envoy struct {
	process *exec.Cmd
	admin   *http.Client
	// gone is closed when the process has ended, on which exit says how.
	gone chan struct{}
	exit error
	// ready is for the port that says which files were read.
	ready *http.Client
	log   string
}

// startEnvoy starts a proxy of the Gateway with the bootstrap that its fleet would have, but for the way to the control plane, which is
// the socket xds.
func startEnvoy(t *testing.T, directory, xds string, gateway ir.Name, settings render.Settings, bundle []byte) *envoy {
	t.Helper()
	bootstrap := bootstrapOf(t, gateway, ir.XDS, settings)
	clusters := bootstrap.GetStaticResources().GetClusters()
	clusters[0] = controlPlane(t, clusters[0], xds, settings, bundle)
	bootstrap.DynamicResources.AdsConfig.GrpcServices[0].InitialMetadata = []*corev3.HeaderValue{{
		Key: "authorization", Value: "Bearer " + proxyName,
	}}
	return launch(t, directory, bootstrap)
}

// withDatabases runs a program that finds its second argument at its first, which is in /run, and sees nothing else there.
const withDatabases = `mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p "${1%/*}" && ln -s "$2" "$1" && shift 2 && exec "$@"`

// launch starts a proxy with a bootstrap.
func launch(t *testing.T, directory string, bootstrap *bootstrapv3.Bootstrap) *envoy {
	t.Helper()
	binary := os.Getenv("ENVOY")
	if binary == "" {
		t.Fatal("ENVOY is not set to the path of an Envoy; run make fuzz")
	}
	databases := filepath.Join(directory, "geoip")
	if err := geoip.Install(databases, ir.GeoDatabases{}.Sources()); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(directory, "admin.sock")
	bootstrap.Admin = &bootstrapv3.Admin{Address: pipe(socket)}
	text, err := protojson.Marshal(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(directory, "bootstrap.json")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	e := &envoy{gone: make(chan struct{}), log: filepath.Join(directory, "envoy.log"), admin: &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}}
	output, err := os.Create(e.log)
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // the path of the binary is what the user of the test chooses
	e.process = exec.Command("sh", "-c", withDatabases, "sh", ir.GeoDirectory, databases,
		binary, "--config-path", config, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warn",
		"--file-flush-interval-msec", "20", "--drain-time-s", "1", "--parent-shutdown-time-s", "2", "--service-node", proxyName)
	e.process.Stdout, e.process.Stderr = output, output
	e.process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := e.process.Start(); err != nil {
		t.Fatalf("starting Envoy in a network of its own, which needs root: %v", err)
	}
	go func() {
		e.exit = e.process.Wait()
		_ = output.Close()
		close(e.gone)
	}()
	return e
}

func (e *envoy) stop() {
	_ = e.process.Process.Kill()
	<-e.gone
}

// words are the last lines of Envoy's log.
func (e *envoy) words() string {
	text, _ := os.ReadFile(e.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// warming is how many listeners wait for something before they serve.
func (e *envoy) warming() (int, error) {
	body, err := e.get("/stats?filter=total_listeners_warming")
	if err != nil {
		return 0, err
	}
	_, number, _ := strings.Cut(strings.TrimSpace(body), ": ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("reading %q: %w", body, err)
	}
	return n, nil
}

func (e *envoy) get(path string) (string, error) {
	response, err := e.admin.Get("http://admin" + path)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// bootstrapOf is what proxies of the Gateway start with on a cluster.
func bootstrapOf(t *testing.T, gateway ir.Name, delivery ir.Delivery, settings render.Settings) *bootstrapv3.Bootstrap {
	t.Helper()
	objects, err := render.Fleet(ir.Gateway{Name: gateway, Fleet: ir.Fleet{
		Name: "fuzz", UID: "fuzz", Class: "ours", Delivery: delivery,
	}}, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	bootstrap := &bootstrapv3.Bootstrap{}
	for _, o := range objects {
		if *o.GetKind() != "ConfigMap" {
			continue
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var files struct{ Data map[string]string }
		if err := json.Unmarshal(text, &files); err != nil {
			t.Fatal(err)
		}
		if err := protojson.Unmarshal([]byte(files.Data["bootstrap.json"]), bootstrap); err != nil {
			t.Fatal(err)
		}
	}
	return bootstrap
}

// controlPlane is the cluster of the control plane, at the other end of a socket. The token comes from the bootstrap, since there is no
// kubelet.
func controlPlane(t *testing.T, c *clusterv3.Cluster, socket string, settings render.Settings, bundle []byte) *clusterv3.Cluster {
	t.Helper()
	tls, err := anypb.New(&tlsv3.UpstreamTlsContext{
		Sni: settings.ServerNames()[0],
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams:     &tlsv3.TlsParameters{TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3},
			AlpnProtocols: []string{"h2"},
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{
				ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{
					InlineBytes: bundle,
				}}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	protocol, err := anypb.New(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol}
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	c.TransportSocket = &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: tls}}
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: c.GetName(), Endpoints: []*endpointv3.LocalityLbEndpoints{{
		LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: pipe(socket),
		}}}},
	}}}
	return c
}

func pipe(path string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
}
