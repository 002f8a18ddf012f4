package route_test

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func TestVirtualHostOfOneChain(t *testing.T) {
	t.Parallel()
	host, _ := route.VirtualHost(ir.VirtualHost{Domain: "a.example", Chain: "https", Rules: []ir.Rule{to("r", path(ir.Prefix, "/"))}})
	prototest.Valid(t, host)
	if len(host.GetRoutes()) != 0 {
		t.Error("routes beside the matcher would serve every chain")
	}
	t.Run("serves its chain", func(t *testing.T) {
		t.Parallel()
		var list routev3.RouteList
		action := host.GetMatcher().GetMatcherTree().GetExactMatchMap().GetMap()["https"].GetAction()
		if err := action.GetTypedConfig().UnmarshalTo(&list); err != nil {
			t.Fatal(err)
		}
		if len(list.GetRoutes()) != 1 || list.GetRoutes()[0].GetName() != "r" {
			t.Errorf("got %v", &list)
		}
	})
	t.Run("answers another chain with 421", func(t *testing.T) {
		t.Parallel()
		var misdirected routev3.Route
		if err := host.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig().UnmarshalTo(&misdirected); err != nil {
			t.Fatal(err)
		}
		if answer(&misdirected) != "421" {
			t.Errorf("got %v", &misdirected)
		}
	})
}
