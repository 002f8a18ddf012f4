package peers

import (
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

// TestReplicasOfOtherReleasesReadTheNamesOfGroups: groups are typed in code only, and have the same text as ever between replicas.
func TestReplicasOfOtherReleasesReadTheNamesOfGroups(t *testing.T) {
	t.Parallel()
	for text, proxy := range map[string]xds.Identity{
		"shop/web|a": {Group: xds.GroupID{Namespace: "shop", Name: "web"}, Pod: "a"},
		"/shared|a":  {Group: xds.GroupID{Name: "shared"}, Pod: "a"},
	} {
		if got := name(proxy); got != text {
			t.Errorf("the entry of %+v is named %q, want %q", proxy, got, text)
		}
		if got, err := parseName(text); err != nil || got != proxy {
			t.Errorf("%q is parsed as %+v (%v), want %+v", text, got, err, proxy)
		}
		sent := entry{proxy: proxy, since: time.Unix(1, 0), state: "1"}.message()
		if got := sent.GetNode().GetCluster() + separator + sent.GetNode().GetId(); got != text {
			t.Errorf("the node of %+v is %q, want %q", proxy, got, text)
		}
		if got, err := parse(sent); err != nil || got.proxy != proxy || got.state != "1" {
			t.Errorf("the entry of %+v is parsed as %+v (%v)", proxy, got, err)
		}
	}
	offered := offer{key: "HTTPRoute/shop/r@shop/web"}
	if key, ok := parseOfferName(offered.name()); !ok || key != offered.key {
		t.Errorf("%q is parsed as an offer of %q, %t", offered.name(), key, ok)
	}
	for _, text := range []string{offered.name(), "web|a", "shop/web"} {
		if got, err := parseName(text); err == nil {
			t.Errorf("%q is parsed as proxy %+v", text, got)
		}
	}
}

// TestNACKsAreReadAsTheyWereWritten has what a NACK of each kind says.
func TestNACKsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	nacks := []xds.NACK{
		{Type: xds.Cluster, Name: "c", Version: "1", FellBack: true, Reason: "no"},
		{Type: xds.VirtualHost, Table: "t", Name: "a", Version: "2", Filters: true, Reason: "no"},
		{
			Type: xds.VirtualHost, Table: "t", Name: "a", Version: "2", Routes: []string{"r", "s"}, Together: true,
			Cluster: xds.ClusterVersion{Name: "infra/fault/80", Version: "3"},
		},
	}
	sent := entry{proxy: xds.Identity{Group: xds.GroupID{Namespace: "shop", Name: "web"}, Pod: "a"}, nacks: nacks}.message()
	got, err := parse(sent)
	if err != nil || len(got.nacks) != len(nacks) {
		t.Fatalf("parsed as %+v (%v)", got, err)
	}
	for i, want := range nacks {
		if got := got.nacks[i]; !same(got, want) || got.Together != want.Together || got.FellBack != want.FellBack || got.Reason != want.Reason {
			t.Errorf("%+v is parsed as %+v", want, got)
		}
	}
}
