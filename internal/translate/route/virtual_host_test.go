package route_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func TestTable(t *testing.T) {
	t.Parallel()
	got := route.Table(ir.ParseTableID("infra/edge/80"), false)
	prototest.Valid(t, got)
	if got.GetName() != "infra/edge/80" || !got.GetIgnorePortInHostMatching() || len(got.GetVirtualHosts()) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestVirtualHostWithoutRules(t *testing.T) {
	t.Parallel()
	host, invalid := route.VirtualHost(ir.VirtualHost{Domain: "a.example"})
	prototest.Valid(t, host)
	if len(invalid) > 0 {
		t.Error(invalid)
	}
}

func TestVirtualHostIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	host := busy(20)
	marshal := func() string {
		translated, _ := route.VirtualHost(host)
		out, err := proto.MarshalOptions{Deterministic: true}.Marshal(translated)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if first, second := marshal(), marshal(); first != second {
		t.Error("the same virtual host gave other bytes")
	}
}

// busy is a host with rules of the kind users write.
func busy(rules int) ir.VirtualHost {
	host := ir.VirtualHost{Table: ir.ParseTableID("infra/edge/80"), Domain: "a.example"}
	for i := range rules {
		rule := to(fmt.Sprintf("HTTPRoute/shop/r%d/0/0", i), path(ir.Prefix, fmt.Sprintf("/service-%d", i)))
		rule.Match.Headers = []ir.NamedMatch{named("x-version", ir.Exact, "v1")}
		rule.RequestHeaders = set("x-route", "100%")
		host.Rules = append(host.Rules, rule)
	}
	return host
}

func BenchmarkVirtualHost(b *testing.B) {
	for _, rules := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d rules", rules), func(b *testing.B) {
			host := busy(rules)
			b.ReportAllocs()
			for b.Loop() {
				route.VirtualHost(host)
			}
		})
	}
}
