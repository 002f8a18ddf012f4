package xds_test

import (
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestEndpoints(t *testing.T) {
	t.Parallel()
	t.Run("that are not published are empty until they come", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
			p := c.connect(group)
			p.subscribe(endpointURL, "eds/c1")
			p.expect(endpointURL, []string{"eds/c1"}, nil)
			c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 1)})
			p.expect(endpointURL, []string{"eds/c1"}, nil)
			c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": nil})
			p.expect(endpointURL, []string{"eds/c1"}, nil)
		})
	})
	t.Run("come anew after a cluster that needs them to warm", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := boot(t, c)
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", "new")})
			p.expect(clusterURL, []string{"c1"}, nil)
			p.expect(endpointURL, []string{"eds/c1"}, nil)
			sharing := cluster(t, group, "c1/http2", "")
			sharing.Endpoints = "eds/c1"
			c.cache.Apply([]xds.Change{sharing})
			p.expect(clusterURL, []string{"c1/http2"}, nil)
			p.expect(endpointURL, []string{"eds/c1"}, nil)
		})
	})
	t.Run("come anew after a reconnect while clusters warm", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			known := versions(boot(t, c).again(endpointURL, "eds/c1"))
			p := c.connect(group)
			p.send(
				&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpointURL, ResourceNamesSubscribe: []string{"eds/c1"}, InitialResourceVersions: known},
			)
			p.expect(endpointURL, []string{"eds/c1"}, nil)
			p = c.connect(group)
			p.subscribe(clusterURL)
			p.expect(clusterURL, []string{"c1", "c2"}, nil)
			p.send(
				&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpointURL, ResourceNamesSubscribe: []string{"eds/c1"}, InitialResourceVersions: known},
			)
			p.hearsNothing()
		})
	})
	t.Run("and secrets do not wait for clusters that wait for them", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := boot(t, c)
			c.cache.Apply([]xds.Change{cluster(t, group, "c3", ""), secret(t, group, "s3", "")})
			warming := p.receive()
			c.cache.Apply([]xds.Change{cluster(t, group, "c4", "")})
			p.subscribe(endpointURL, "eds/c3")
			p.expect(endpointURL, []string{"eds/c3"}, nil)
			p.subscribe(secretURL, "s3")
			p.expect(secretURL, []string{"s3"}, nil)
			p.acknowledge(warming)
			p.expect(clusterURL, []string{"c4"}, nil)
		})
	})
	t.Run("can be seen while a cluster names them", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 1)})
			p := c.connect(group)
			p.subscribe(endpointURL, "eds/c1")
			p.expect(endpointURL, nil, []string{"eds/c1"})
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
			p.expect(endpointURL, []string{"eds/c1"}, nil)
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", "new")})
			p.hearsNothing()
			c.cache.Apply([]xds.Change{removed(cluster(t, group, "c1", ""))})
			c.cache.ApplyEndpoints(map[string]*xds.Resource{"eds/c1": assignment(t, "eds/c1", 2)})
			p.hearsNothing()
			p.subscribe(endpointURL, "eds/c1")
			p.expect(endpointURL, nil, []string{"eds/c1"})
		})
	})
}
