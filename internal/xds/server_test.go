package xds_test

import (
	"crypto/rand"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/xds"
)

var groupA, groupB = xds.GroupID{Namespace: "a", Name: "a"}, xds.GroupID{Namespace: "b", Name: "b"}

func TestAProxySeesOnlyItsOwnGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{
			cluster(t, groupA, "mine", ""), table(t, groupA, "routes"),
			cluster(t, groupB, "theirs", ""), secret(t, groupB, "key", "hush"), table(t, groupB, "their-routes"),
		})
		c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/mine": assignment(t, "eds/mine", 1), "eds/theirs": assignment(t, "eds/theirs", 2)})

		p := c.connect(groupA)
		p.send(&discoveryv3.DeltaDiscoveryRequest{
			Node: &corev3.Node{Id: pod, Cluster: groupA.String()}, TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"*", "theirs"},
		})
		p.expect(clusterURL, []string{"mine"}, []string{"theirs"})
		p.subscribe(endpointURL, "eds/mine", "eds/theirs", "*")
		p.expect(endpointURL, []string{"eds/mine"}, []string{"eds/theirs"})
		p.subscribe(secretURL, "key", "*")
		p.expect(secretURL, nil, []string{"key"})
		p.subscribe(routeURL, "their-routes", "routes")
		p.expect(routeURL, []string{"routes"}, []string{"their-routes"})

		c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/theirs": assignment(t, "eds/theirs", 3)})
		c.cache.Apply([]xds.Change{secret(t, groupB, "key", "changed"), cluster(t, groupB, "more", "")})
		p.hearsNothing()
	})
}

func TestUnknownTypesEndTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := c.connectWithoutReading(groupA)
		p.subscribe("type.googleapis.com/envoy.service.runtime.v3.Runtime", "x")
		if _, err := p.stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("got %v, want InvalidArgument", err)
		}
	})
}

func TestNoProxyIsServedBeforeOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{closed: true})
		p := c.connectWithoutReading(groupA)
		if _, err := p.stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v, want Unavailable", err)
		}
		c.cache.Open()
		p = c.connect(groupA)
		p.subscribe(clusterURL)
		p.expect(clusterURL, nil, nil)
	})
}

func TestABigResponseArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{cluster(t, groupA, "big", strings.Repeat("x", 10<<20))})
		p := c.connect(groupA)
		p.subscribe(clusterURL)
		p.expect(clusterURL, []string{"big"}, nil)
	})
}

func TestASlowProxyDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		// Far more than the buffers between the server and a proxy can hold, so the server is stuck in sending it.
		c.cache.Apply([]xds.Change{cluster(t, group, "big", strings.Repeat("x", 4<<20))})
		slow := c.connectWithoutReading(group)
		slow.subscribe(clusterURL)
		c.wait("gatewright_xds_responses_total cluster", 1)

		quick := c.connect(group)
		quick.subscribe(clusterURL)
		quick.expect(clusterURL, []string{"big"}, nil)
		for _, name := range []string{"a", "b", "c", "b", "a"} {
			c.cache.Apply([]xds.Change{cluster(t, group, name, rand.Text())})
			quick.expect(clusterURL, []string{name}, nil)
		}
		c.cache.Apply([]xds.Change{removed(cluster(t, group, "a", ""))})
		quick.expect(clusterURL, nil, []string{"a"})

		// The slow one, when it reads on, learns in one response of what is still true.
		for _, names := range [][]string{{"big"}, {"b", "c"}} {
			response, err := slow.stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			check(t, response, clusterURL, names, nil)
			slow.acknowledge(response)
		}
	})
}

func TestMetricsCountWhatWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{cluster(t, groupA, "x", ""), cluster(t, groupA, "y", "")})
		p := c.connect(groupA)
		p.subscribe(clusterURL)
		p.refuse(p.receive(), "y: no")
		p.subscribe(secretURL, "none")
		p.expect(secretURL, nil, []string{"none"})

		want := map[string]float64{
			"gatewright_xds_connected_proxies":            1,
			"gatewright_xds_panics_total":                 0,
			"gatewright_xds_nacks_total cluster":          1,
			"gatewright_xds_resources_sent_total cluster": 2,
			"gatewright_xds_resources_sent_total secret":  0,
			"gatewright_xds_responses_total cluster":      1,
			"gatewright_xds_responses_total secret":       1,
		}
		got := c.measured()
		if got["gatewright_xds_bytes_sent_total cluster"] < 100 {
			t.Errorf("sent %v bytes", got["gatewright_xds_bytes_sent_total cluster"])
		}
		maps.DeleteFunc(got, func(name string, _ float64) bool { return strings.Contains(name, "bytes") })
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		p.disconnect()
		c.wait("gatewright_xds_connected_proxies", 0)
	})
}

func (c *control) wait(metric string, want float64) {
	c.t.Helper()
	for deadline := time.Now().Add(timeout); c.measured()[metric] != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s is %v, want %v", metric, c.measured()[metric], want)
		}
	}
}

// measured returns the value of each metric, by its name and type.
func (c *control) measured() map[string]float64 {
	c.t.Helper()
	families, err := c.metrics.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			out[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return out
}
