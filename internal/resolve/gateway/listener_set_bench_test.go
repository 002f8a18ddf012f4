package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// BenchmarkGatewayWith1000ListenerSets is what one edited ListenerSet costs where a thousand tenants share a Gateway.
func BenchmarkGatewayWith1000ListenerSets(b *testing.B) {
	text := strings.Builder{}
	text.WriteString(takes)
	for i := range 1000 {
		text.WriteString(set(fmt.Sprintf("infra/s%d", i), "01", fmt.Sprintf(
			`[{name: a, port: 443, protocol: HTTPS, hostname: a.t%d.org}, {name: b, port: 443, protocol: HTTPS, hostname: "*.t%d.org"}]`, i, i)))
	}
	changes, err := resolvetest.Parse(text.String())
	if err != nil {
		b.Fatal(err)
	}
	objects := store.NewObjects(store.New())
	for _, c := range changes {
		objects.Apply(c)
	}
	classes := store.NewTable[class.Resolved](store.New(), "class")
	classes.Set("ours", class.Resolved{Ours: true})
	b.ReportAllocs()
	for b.Loop() {
		gateway.Resolve(nil, objects, classes, "infra/gw")
	}
}
