//go:build translation

package translation

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/endpoints"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// The clusters of the test. Proxies are in the first.
const here, there = "here", "there"

// cart is a port of the ServiceImport.
var cart = ir.Backend{Kind: ir.KindServiceImport, Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 80, Protocol: ir.BackendHTTP1}

// imported is a ServiceImport with its slices, and the file that Envoy reads its endpoints from.
type imported struct {
	objects *store.Objects
	file    string
	version int
}

func newImported(t *testing.T) *imported {
	t.Helper()
	i := &imported{objects: store.NewObjects(store.New()), file: filepath.Join(t.TempDir(), "endpoints.json")}
	i.objects.ClusterID = here
	object := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: cart.Object.Namespace, Name: cart.Object.Name}}
	object.Spec.Ports = []mcsv1beta1.ServicePort{{Name: "web", Port: cart.Port}}
	i.objects.Apply(store.Change{Kind: store.ServiceImport, Key: cart.Object.String(), Object: object})
	return i
}

// set gives a cluster slices with these servers, each one of its own, because the servers differ in their ports.
func (i *imported) set(cluster string, servers ...*member) {
	for n := range 2 {
		name := fmt.Sprintf("%s-%d", cluster, n)
		change := store.Change{Kind: store.EndpointSlice, Key: store.Key(cart.Object.Namespace, name)}
		if n < len(servers) {
			host, number, _ := net.SplitHostPort(servers[n].address)
			port, _ := strconv.ParseInt(number, 10, 32)
			slice := &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Namespace: cart.Object.Namespace, Name: name, Labels: map[string]string{
					mcsv1beta1.LabelServiceName: cart.Object.Name, mcsv1beta1.LabelSourceCluster: cluster,
				}},
				AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{host}}},
				Ports: []discoveryv1.EndpointPort{{Name: new("web"), Port: new(int32(port))}},
			}
			change.Object = slice
		}
		i.objects.Apply(change)
	}
}

// publish writes the endpoints. Envoy takes a file that is moved to where it looks.
func (i *imported) publish(t *testing.T) {
	t.Helper()
	assignment, _ := endpoints.LoadAssignment(nil, i.objects, cart.Endpoints())
	i.version++
	resource := wire.Any(assignment)
	text, err := protojson.Marshal(&discoveryv3.DiscoveryResponse{
		VersionInfo: strconv.Itoa(i.version), TypeUrl: resource.GetTypeUrl(), Resources: []*anypb.Any{resource},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(i.file+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(i.file+".new", i.file); err != nil {
		t.Fatal(err)
	}
}

// cluster is that of the import, with endpoints from the file.
func (i *imported) cluster(settings *ir.DestinationSettings) *clusterv3.Cluster {
	c := cluster.Cluster(cart, cluster.Options{Policy: &ir.DestinationPolicy{Settings: settings}})
	c.EdsClusterConfig.EdsConfig = &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{Path: i.file}},
	}
	return c
}

// member is a server of a cluster. It can be stopped, and started again at its address.
type member struct {
	cluster, address string
	server           *httptest.Server
}

func newMember(t *testing.T, cluster string) *member {
	t.Helper()
	m := &member{cluster: cluster, address: "127.0.0.1:0"}
	m.start(t)
	t.Cleanup(func() { m.server.Close() })
	return m
}

func (m *member) start(t *testing.T) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", m.address)
	if err != nil {
		t.Fatal(err)
	}
	m.address = listener.Addr().String()
	m.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("x-cluster", m.cluster)
	}))
	_ = m.server.Listener.Close()
	m.server.Listener = listener
	m.server.Start()
}

// onlyFrom waits until many requests in a row are answered by servers of one cluster.
func onlyFrom(t *testing.T, address, cluster, when string) {
	t.Helper()
	const enough = 50
	var last string
	inARow := 0
	for start := time.Now(); time.Since(start) < timeout; {
		r, err := prompt(t, "http://"+address, nil)
		if last = fmt.Sprintf("%d from %q, %v", r.status, r.header.Get("x-cluster"), err); r.header.Get("x-cluster") != cluster {
			inARow = 0
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if inARow++; inARow == enough {
			return
		}
	}
	t.Fatalf("%s, not all requests are answered by servers of cluster %q: the last was %s", when, cluster, last)
}

// TestServiceImport: requests go to endpoints of this cluster, and to those of another one while these fail or are not there.
func TestServiceImport(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]*ir.DestinationSettings{
		"health checks": {Active: &ir.ActiveCheck{
			Timeout: time.Second, Interval: 200 * time.Millisecond, Unhealthy: 2, Healthy: 1, TCP: &ir.TCPCheck{},
		}},
		"outlier detection": {Passive: &ir.PassiveCheck{
			Split: true, LocalFailures: 3, Interval: 200 * time.Millisecond, EjectionTime: time.Second, MaxPercent: 100,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, one, two, far := newImported(t), newMember(t, here), newMember(t, here), newMember(t, there)
			i.set(here, one, two)
			i.set(there, far)
			i.publish(t)
			address := serveHost(t, ir.VirtualHost{Domain: "*", Rules: []ir.Rule{{
				Name: "rule", Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: cart, Weight: 1}}},
			}}}, i.cluster(settings))
			onlyFrom(t, address, here, "with all of them")
			for range 100 {
				if r, err := prompt(t, "http://"+address, nil); err != nil || r.header.Get("x-cluster") != here {
					t.Fatalf("while endpoints here are healthy: %+v, %v", r, err)
				}
			}

			one.server.Close()
			two.server.Close()
			onlyFrom(t, address, there, "while those here fail")
			one.start(t)
			two.start(t)
			onlyFrom(t, address, here, "when those here are back")

			i.set(here)
			i.publish(t)
			onlyFrom(t, address, there, "while there are no slices of this cluster")
			i.set(here, one)
			i.set(there)
			i.publish(t)
			onlyFrom(t, address, here, "while there are slices of this cluster alone")
		})
	}
}
