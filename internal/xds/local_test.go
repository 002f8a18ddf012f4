package xds_test

import (
	"context"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

// onNode knows the proxies of every Gateway, and that they all run on one node.
type onNode string

func (n onNode) Authenticate(ctx context.Context, token string) (xds.Proof, error) {
	proof, err := anyGateway{}.Authenticate(ctx, token)
	proof.Node = string(n)
	return proof, err
}

func TestEndpointsByPlace(t *testing.T) {
	t.Parallel()
	const name = "eds/c1"
	all, near, zonal, nothing := assignment(t, name, 1), assignment(t, name, 2), assignment(t, name, 3), assignment(t, name, 4)
	byZone := all.In(xds.Places{Zones: map[string]*xds.Resource{"z1": zonal}})
	// holds says that the proxy was sent one of them.
	holds := func(t *testing.T, response *discoveryv3.DeltaDiscoveryResponse, want *xds.Resource) {
		t.Helper()
		if got := response.GetResources()[0].GetVersion(); got != want.Version() {
			t.Errorf("the proxy was sent version %s, want %s", got, want.Version())
		}
	}
	begin := func(t *testing.T, node string, resource *xds.Resource) (*control, *proxy, *discoveryv3.DeltaDiscoveryResponse) {
		t.Helper()
		c := start(t, options{authenticator: onNode(node)})
		c.cache.ApplyEndpoints(map[string]*xds.Resource{name: resource})
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
		p := c.connect(group)
		p.subscribe(endpointURL, name)
		sent := p.expect(endpointURL, []string{name}, nil)
		return c, p, sent
	}
	for _, test := range []struct {
		name, node string
		resource   *xds.Resource
		want       *xds.Resource
	}{
		{"a proxy of which the node is not known gets all", "", byZone, all},
		{"a proxy in a zone that is not known gets all", "n1", byZone, all},
		{"a node counts", "n1", all.In(xds.Places{Nodes: map[string]*xds.Resource{"n1": near}}), near},
		{"another node gets all", "n2", all.In(xds.Places{Nodes: map[string]*xds.Resource{"n1": near}}), all},
		{
			"another node gets nothing if the Service keeps to its node", "n2",
			all.In(xds.Places{Nodes: map[string]*xds.Resource{"n1": near}, Elsewhere: nothing}), nothing,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, _, response := begin(t, test.node, test.resource)
				holds(t, response, test.want)
			})
		})
	}
	t.Run("proxies are told when the zone of their node is known, and of nothing else", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, p, response := begin(t, "n1", byZone)
			holds(t, response, all)
			c.cache.PlaceNode("n2", "z1")
			p.hearsNothing()
			c.cache.PlaceNode("n1", "z1")
			holds(t, p.expect(endpointURL, []string{name}, nil), zonal)
			c.cache.PlaceNode("n1", "z1")
			// What proxies of another zone get is no business of this one.
			c.cache.ApplyEndpoints(map[string]*xds.Resource{name: all.In(xds.Places{Zones: map[string]*xds.Resource{"z1": zonal, "z2": near}})})
			p.hearsNothing()
			c.cache.ApplyEndpoints(map[string]*xds.Resource{name: all})
			holds(t, p.expect(endpointURL, []string{name}, nil), all)
		})
	})
}
