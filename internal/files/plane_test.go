package files

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

const fleetName = "edge-gatewright"

func exampleGateway() ir.Gateway {
	return ir.Gateway{Name: ir.ParseName(gatewayName), Fleet: ir.Fleet{Name: fleetName, UID: "uid", Delivery: ir.Files}}
}

// cluster is a Kubernetes with one proxy, whose kubelet looks after it when the pod changes, and now and then by itself.
type cluster struct {
	*fixture
	client.Client
	plane *Plane

	mu sync.Mutex
	// files are those that the proxy has, and kind how it is supplied.
	files    map[string][]byte
	delivery ir.Delivery
	// held are the states that the proxy was reported to have, and problems what it could not have served with.
	held     []string
	problems []string
	reports  []string
	writes   int
	dice     *rand.Rand
}

// random is below n.
func (c *cluster) random(n time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.dice.Int64N(int64(n)))
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &cluster{fixture: newFixture(t), delivery: ir.Files, dice: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // the same every time
	c.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "proxy"}},
	).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			time.AfterFunc(c.random(time.Second), c.sync)
			return w.Patch(ctx, o, p, options...)
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			c.mu.Lock()
			c.writes++
			c.mu.Unlock()
			// Time passes, so that the kubelet may come by between two writes.
			time.Sleep(c.random(50 * time.Millisecond))
			return w.Apply(ctx, o, options...)
		},
	})
	c.plane = New(Config{
		Client: c.Client, Reader: c.Client, Source: c.cache, Observer: c, Log: slog.New(slog.DiscardHandler),
		Report: func(_ ir.Name, problem string) { c.reports = append(c.reports, problem) },
		Ask: func(context.Context, string) (string, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.delivery != ir.Files {
				return "", errNoFiles
			}
			return loadedID(c.files[layout.Loaded]), nil
		},
	})
	return c
}

func loadedID(file []byte) string {
	table := &routev3.RouteConfiguration{}
	response := &discoveryv3.DiscoveryResponse{}
	if proto.Unmarshal(file, response) != nil || len(response.GetResources()) == 0 || response.GetResources()[0].UnmarshalTo(table) != nil {
		return ""
	}
	return table.GetVirtualHosts()[0].GetRoutes()[0].GetDirectResponse().GetBody().GetInlineString()
}

// start runs the plane until the test ends.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = c.plane.Start(ctx) })
	group.Go(func() {
		for ctx.Err() == nil {
			c.sync()
			select {
			case <-ctx.Done():
			case <-time.After(c.random(3 * time.Second)):
			}
		}
	})
	t.Cleanup(func() { cancel(); group.Wait() })
}

// sync is what a kubelet does.
func (c *cluster) sync() {
	files, _, err := c.plane.read(context.Background(), exampleGateway())
	if err != nil || files[layout.Loaded] == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = files
	c.problems = append(c.problems, missing(files)...)
}

// missing is what the virtual hosts of the proxy would not find.
func missing(files map[string][]byte) []string {
	clusters := map[string]*clusterv3.Cluster{}
	for _, packed := range resources(files[layout.Clusters]) {
		each := &clusterv3.Cluster{}
		_ = packed.UnmarshalTo(each)
		clusters[each.GetName()] = each
	}
	var problems []string
	for name, file := range files {
		if !strings.HasPrefix(name, string(layout.RouteTables)) {
			continue
		}
		table := &routev3.RouteConfiguration{}
		_ = resources(file)[0].UnmarshalTo(table)
		for _, host := range table.GetVirtualHosts() {
			each := clusters["team/"+host.GetName()+"/80"]
			if each == nil {
				problems = append(problems, "no cluster for "+host.GetName())
			} else if path := each.GetEdsClusterConfig().GetEdsConfig().GetPathConfigSource().GetPath(); files[strings.TrimPrefix(
				path, layout.Path(Directory, ""),
			)] == nil {
				problems = append(problems, "no endpoints for "+host.GetName())
			}
		}
	}
	return problems
}

func resources(file []byte) []interface{ UnmarshalTo(proto.Message) error } {
	response := &discoveryv3.DiscoveryResponse{}
	_ = proto.Unmarshal(file, response)
	var all []interface{ UnmarshalTo(proto.Message) error }
	for _, each := range response.GetResources() {
		all = append(all, each)
	}
	return all
}

func (c *cluster) Connected(xds.Identity)    {}
func (c *cluster) Disconnected(xds.Identity) {}
func (c *cluster) Holds(_ xds.Identity, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = append(c.held, state)
}

// ready has the plane know the proxy.
func (c *cluster) ready() {
	c.plane.Endpoints("team", "slice", &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{render.GatewayNameLabel: "edge", discoveryv1.LabelServiceName: fleetName}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"198.18.16.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "proxy"},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		}},
	})
}

// remove takes a backend and its host away, both at once.
func (w *fixture) remove(name string) {
	w.t.Helper()
	w.cache.Apply([]xds.Change{
		{Group: group, Type: xds.VirtualHost, Table: gatewayName + "/443", Name: name},
		{Group: group, Type: xds.Cluster, Name: "team/" + name + "/80"},
	})
}

// expect checks that the proxy has what it is to have, that this is known, and that it was never without anything it needed.
func (c *cluster) expect(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	snapshot := c.cache.Snapshot(group)
	got, err := readContent(c.files)
	if err != nil || !got.equal(c.content()) {
		t.Errorf("the proxy has files %v, want %v (%v)", slices.Sorted(maps.Keys(c.files)), slices.Sorted(maps.Keys(c.content().all())), err)
	}
	if len(c.held) == 0 || c.held[len(c.held)-1] != snapshot.State {
		t.Errorf("the proxy is known to have states %v, want %s last", c.held, snapshot.State)
	}
	if len(c.problems) > 0 {
		t.Errorf("the proxy was without something it needed: %v", c.problems)
	}
}

func TestChangesArriveInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.backend("first")
		c.plane.Serve(exampleGateway())
		c.start(t)
		time.Sleep(5 * time.Second)
		c.sync()
		c.ready()
		time.Sleep(5 * time.Second)
		c.expect(t)
		for round := range 30 {
			name := fmt.Sprintf("backend-%d", c.random(6))
			if c.random(2) == 0 {
				c.backend(name)
			} else {
				c.remove(name)
			}
			c.plane.Apply([]xds.Change{{Group: group}})
			time.Sleep(c.random(3 * time.Second))
			if round%10 == 9 {
				time.Sleep(30 * time.Second)
				c.expect(t)
			}
		}
	})
}

func TestNothingIsWrittenTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.backend("a")
		c.plane.Serve(exampleGateway())
		c.start(t)
		time.Sleep(5 * time.Second)
		c.ready()
		time.Sleep(time.Minute)
		before := c.writes
		c.plane.Serve(exampleGateway())
		c.plane.Apply([]xds.Change{{Group: group}})
		time.Sleep(time.Minute)
		if c.writes != before {
			t.Errorf("%d objects were written although nothing changed", c.writes-before)
		}
		// Another leader finds everything as it should be.
		next := New(c.plane.Config)
		next.Serve(exampleGateway())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = next.Start(ctx)
		if c.writes != before {
			t.Errorf("another leader wrote %d objects", c.writes-before)
		}
	})
}

func TestFilesGoWhenNoProxyReadsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.backend("a")
		gateway := exampleGateway()
		c.plane.Serve(gateway)
		c.start(t)
		time.Sleep(5 * time.Second)
		c.sync()
		c.ready()
		time.Sleep(10 * time.Second)
		gateway.Fleet.Delivery = ir.XDS
		c.plane.Serve(gateway)
		c.backend("b")
		c.scoped()
		c.plane.Apply([]xds.Change{{Group: group}})
		time.Sleep(time.Minute)
		c.mu.Lock()
		got, err := readContent(c.files)
		if err != nil || len(got.clusters) != 2 || len(c.problems) > 0 || len(c.reports) > 0 {
			t.Errorf("the old proxy has clusters %v (%v), missed %v, and %q was reported", got.clusters, err, c.problems, c.reports)
		}
		c.mu.Unlock()
		c.mu.Lock()
		c.delivery = ir.XDS
		c.mu.Unlock()
		c.ready()
		time.Sleep(time.Minute)
		if files, _, err := c.plane.read(t.Context(), gateway); err != nil || len(files) > 0 {
			t.Errorf("files %v are left (%v)", slices.Sorted(maps.Keys(files)), err)
		}
	})
}

func TestAnObjectOfAnotherOwnerIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: fleetName + "-clusters",
		}, Data: map[string]string{"a": "b"}}
		if err := c.Create(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		c.plane.Serve(exampleGateway())
		c.start(t)
		time.Sleep(time.Minute)
		if err := c.Get(
			t.Context(), client.ObjectKeyFromObject(theirs), theirs,
		); err != nil || theirs.Data["a"] != "b" || len(theirs.BinaryData) > 0 {
			t.Errorf("it was changed to %v (%v)", theirs, err)
		}
		if len(c.reports) != 1 || !strings.Contains(c.reports[0], fleetName+"-clusters") {
			t.Errorf("it was reported as %q, want the object's name once", c.reports)
		}
	})
}
