package files

import (
	"maps"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/ir"
	clustertranslate "github.com/gatewright/gatewright/internal/translate/cluster"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/xds"
)

const gatewayName = "team/edge"

var group = xds.GroupID{Namespace: "team", Name: "edge"}

// fixture is what a Gateway with one HTTPS listener has, in a cache.
type fixture struct {
	t     *testing.T
	cache *xds.Cache
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, cache: xds.NewCache()}
	port := ir.Port{Number: 443, Protocol: ir.HTTPS, Chains: []ir.Chain{{
		Name: "https", Certificates: []string{"team/certificate"}, RouteTable: ir.ParseTableID(gatewayName + "/443"),
	}}}
	w.set(xds.Change{Type: xds.Listener, Name: gatewayName + "/443"}, listenertranslate.Listener(ir.ParseName(gatewayName), port, nil))
	w.set(xds.Change{Type: xds.Secret, Name: "team/certificate"}, &tlsv3.Secret{Name: "team/certificate"})
	w.set(xds.Change{Type: xds.RouteTable, Name: gatewayName + "/443"}, &routev3.RouteConfiguration{Name: gatewayName + "/443"})
	return w
}

func (w *fixture) set(change xds.Change, message proto.Message) {
	w.t.Helper()
	change.Group = group
	if message != nil {
		r, err := xds.NewResource(message)
		if err != nil {
			w.t.Fatal(err)
		}
		change.Resource = r
	}
	w.cache.Apply([]xds.Change{change})
}

// backend is a cluster and, where a host is to use it, a virtual host.
func (w *fixture) backend(name string) {
	w.t.Helper()
	backend, ok := ir.ParseBackend("team/" + name + "/80")
	if !ok {
		w.t.Fatalf("%q is no backend", name)
	}
	cluster := clustertranslate.Cluster(backend, clustertranslate.Options{})
	w.set(xds.Change{Type: xds.Cluster, Name: cluster.GetName(), Endpoints: backend.Endpoints().String()}, cluster)
	w.host(name)
}

func (w *fixture) host(name string) {
	w.t.Helper()
	w.set(xds.Change{Type: xds.VirtualHost, Table: gatewayName + "/443", Name: name}, &routev3.VirtualHost{
		Name: name, Domains: []string{name},
	})
}

func (w *fixture) content() content {
	w.t.Helper()
	c, err := contentOf(Directory, w.cache.Snapshot(group))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestResourcesLookIntoFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.backend("a")
	files := w.content().all()

	listener := unpack(t, files[layout.Listeners], &listenerv3.Listener{})
	chain := listener.GetDefaultFilterChain()
	if chain == nil {
		chain = listener.GetFilterChains()[0]
	}
	manager := &hcmv3.HttpConnectionManager{}
	if err := chain.GetFilters()[len(chain.GetFilters())-1].GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	socket := &tlsv3.DownstreamTlsContext{}
	if err := chain.GetTransportSocket().GetTypedConfig().UnmarshalTo(socket); err != nil {
		t.Fatal(err)
	}
	cluster := unpack(t, files[layout.Clusters], &clusterv3.Cluster{})
	secret := socket.GetCommonTlsContext().GetTlsCertificateSdsSecretConfigs()[0]
	for what, source := range map[string]struct {
		path string
		file proto.Message
		name string
	}{
		"routes":       {manager.GetRds().GetConfigSource().GetPathConfigSource().GetPath(), &routev3.RouteConfiguration{}, gatewayName + "/443"},
		"certificates": {secret.GetSdsConfig().GetPathConfigSource().GetPath(), &tlsv3.Secret{}, "team/certificate"},
		"endpoints": {
			cluster.GetEdsClusterConfig().GetEdsConfig().GetPathConfigSource().GetPath(), &endpointv3.ClusterLoadAssignment{},
			cluster.GetEdsClusterConfig().GetServiceName(),
		},
	} {
		file, inside := strings.CutPrefix(source.path, layout.Path(Directory, ""))
		if !inside || files[file] == nil {
			t.Errorf("%s are looked for in %q, which is no file; there are %v", what, source.path, slices.Sorted(maps.Keys(files)))
			continue
		}
		unpack(t, files[file], source.file)
		named := source.file.ProtoReflect()
		field := named.Descriptor().Fields().ByName("name")
		if field == nil {
			field = named.Descriptor().Fields().ByName("cluster_name")
		}
		if got := named.Get(field).String(); got != source.name {
			t.Errorf("the file of %s has %q, want %q", what, got, source.name)
		}
	}
}

func unpack[M proto.Message](t *testing.T, file []byte, into M) M {
	t.Helper()
	response := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(file, response); err != nil || len(response.GetResources()) != 1 {
		t.Fatalf("the file has %d resources, want one (%v)", len(response.GetResources()), err)
	}
	if err := response.GetResources()[0].UnmarshalTo(into); err != nil {
		t.Fatal(err)
	}
	return into
}

// scoped has a listener look for its routes in scopes.
func (w *fixture) scoped() {
	w.t.Helper()
	port := ir.Port{Number: 80, Protocol: ir.HTTP, Chains: []ir.Chain{{
		Name: "http", RouteTable: ir.ParseTableID(gatewayName + "/80"), ByHost: true,
	}}}
	w.set(xds.Change{Type: xds.Listener, Name: gatewayName + "/80"}, listenertranslate.Listener(ir.ParseName(gatewayName), port, nil))
}

func TestScopesAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.scoped()
	if _, err := contentOf(Directory, w.cache.Snapshot(group)); err == nil || !strings.Contains(err.Error(), gatewayName+"/80") {
		t.Errorf("the problem is %v, want it to name the listener", err)
	}
}

func TestContentIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.backend("a")
	w.backend("b")
	c := w.content()
	files := c.all()
	files[layout.Loaded] = loadedFile(id(files))
	again, err := readContent(files)
	if err != nil || !again.equal(c) || id(again.all()) != id(c.all()) {
		t.Errorf("what was read is not what was written (%v)", err)
	}
}

func TestFilesAreSpread(t *testing.T) {
	t.Parallel()
	all := layout.Objects("edge")
	objects, err := spread("edge", map[string][]byte{
		layout.Listeners: nil, layout.Clusters: nil, layout.Loaded: nil,
		layout.FileName(layout.Secrets, "team/key"): nil, layout.FileName(layout.RouteTables, strings.Repeat("x", 500)): nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	for object, files := range objects {
		if !slices.Contains(all, object) {
			t.Errorf("%s is not in the volume", object.Name)
		}
		for name := range files {
			if secret := strings.HasPrefix(name, "secrets."); secret != object.Secret {
				t.Errorf("%s is in %s %s", name, kindOf(object), object.Name)
			}
			if len(name) > 253 {
				t.Errorf("the name %s is too long", name)
			}
		}
	}
	if _, err := spread("edge", map[string][]byte{layout.Clusters: make([]byte, 1<<20)}); err == nil || !strings.Contains(
		err.Error(), "edge-clusters",
	) {
		t.Errorf("what does not fit is answered with %v, want the object's name", err)
	}
}
