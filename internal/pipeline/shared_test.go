package pipeline

import (
	"os"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/xds"
)

// A tenant of shared proxies can write neither lines of text nor lines that are another's.
func TestLinesOfSharedProxiesNameTheirGateway(t *testing.T) {
	t.Parallel()
	in, err := os.ReadFile("testdata/GatewayParameters-shared/in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g := newGraph()
	g.objects.System = "gatewright-system"
	for _, c := range append(keys(), resolvetest.Load(t, base+string(in))...) {
		g.objects.Apply(c)
	}
	g.memo.Run()

	port, _ := g.ports.Get(nil, ir.ParsePortID("infra/gw|80"))
	port.TargetPort, _ = g.shared.sockets.Get(nil, ir.ParsePortID("infra/gw|80"))
	port.LoggedAs = "infra/gw"
	want, err := xds.NewResource(listenertranslate.Listener(ir.ParseName("infra/gw"), port, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := g.shared.listeners.Get(nil, ir.ParsePortID("infra/gw|80")); got.resource == nil || got.resource.Version() != want.Version() {
		t.Error("its lines do not name the Gateway")
	}
	forger, _ := g.ports.Get(nil, ir.ParsePortID("infra/forger|80"))
	for _, log := range forger.Logs {
		if log.Type == ir.LogText {
			t.Errorf("a tenant writes %+v", log)
		}
	}
}
