package xds

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

func TestSnapshotIsWhatProxiesAreToHave(t *testing.T) {
	t.Parallel()
	resource := func(m proto.Message) *Resource {
		r, err := NewResource(m)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	group, other := GroupID{Namespace: "a", Name: "b"}, GroupID{Namespace: "a", Name: "other"}
	c := NewCache()
	c.ApplyEndpoints(map[string]*Resource{
		"known":   resource(&endpointv3.ClusterLoadAssignment{ClusterName: "known", Policy: &endpointv3.ClusterLoadAssignment_Policy{}}),
		"foreign": resource(&endpointv3.ClusterLoadAssignment{ClusterName: "foreign"}),
	})
	states := c.Apply([]Change{
		{Group: group, Type: Cluster, Name: "z", Endpoints: "known", Resource: resource(&clusterv3.Cluster{Name: "z"})},
		{Group: group, Type: Cluster, Name: "y", Endpoints: "unknown", Resource: resource(&clusterv3.Cluster{Name: "y"})},
		{Group: group, Type: Cluster, Name: "x", Endpoints: "known", Resource: resource(&clusterv3.Cluster{Name: "x"})},
		{Group: group, Type: RouteTable, Name: "t", Resource: resource(&routev3.RouteConfiguration{Name: "t"})},
		{Group: group, Type: VirtualHost, Table: "t", Name: "h", Resource: resource(&routev3.VirtualHost{Name: "h"})},
		{Group: other, Type: Cluster, Name: "w", Endpoints: "foreign", Resource: resource(&clusterv3.Cluster{Name: "w"})},
	})
	got := c.Snapshot(group)
	if got.State != states[group] {
		t.Errorf("the state is %s, and was called %s", got.State, states[group])
	}
	for what, names := range map[string]struct{ got, want []string }{
		"clusters":  {names(got.Clusters), []string{"x", "y", "z"}},
		"endpoints": {names(got.Endpoints), []string{"known", "unknown"}},
		"tables":    {names(got.RouteTables), []string{"t"}},
	} {
		if len(names.got) != len(names.want) {
			t.Fatalf("%s are %v, want %v", what, names.got, names.want)
		}
		for i := range names.want {
			if names.got[i] != names.want[i] {
				t.Fatalf("%s are %v, want %v", what, names.got, names.want)
			}
		}
	}
	var table routev3.RouteConfiguration
	if err := got.RouteTables[0].GetResource().UnmarshalTo(&table); err != nil || len(table.GetVirtualHosts()) != 1 {
		t.Errorf("the route table is %v (%v), want one virtual host", &table, err)
	}
	if empty := c.Snapshot(GroupID{Namespace: "no", Name: "body"}); empty.State != EmptyState || len(c.groups) != 2 {
		t.Errorf("an unknown Gateway has state %s and left a group behind", empty.State)
	}
}

func names(resources []*discoveryv3.Resource) []string {
	var found []string
	for _, r := range resources {
		found = append(found, r.GetName())
	}
	return found
}
