package sharedfleet

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestAMovedGatewayTakesAllItHasWithIt(t *testing.T) {
	t.Parallel()
	f := NewFanout()
	cluster, err := xds.NewResource(&clusterv3.Cluster{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	one, two := xds.GroupID{Namespace: "x", Name: "one"}, xds.GroupID{Namespace: "x", Name: "two"}
	shared, other := xds.GroupID{Name: "shared"}, xds.GroupID{Name: "other"}
	move := func(gateway, group xds.GroupID) []xds.Change {
		step := f.Begin([]xds.GroupID{gateway}, func(xds.GroupID) (xds.GroupID, bool) { return group, true })
		defer step.End()
		return step.Copy(xds.Change{Group: gateway, Type: xds.Cluster, Name: "a", Resource: cluster})
	}
	if got := move(one, shared); len(got) != 1 || got[0].Group != shared || got[0].Resource == nil {
		t.Errorf("the first to need a cluster brings it: %v", got)
	}
	move(two, shared)
	if got := move(one, xds.GroupID{}); len(got) != 0 {
		t.Errorf("the cluster is still needed: %v", got)
	}
	if got := move(two, other); len(got) != 2 || got[0].Resource != nil || got[1].Group != other {
		t.Errorf("the last takes it along: %v", got)
	}
	if len(f.users) != 1 {
		t.Errorf("%v is remembered", f.users)
	}
}
