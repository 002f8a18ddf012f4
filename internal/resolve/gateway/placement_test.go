package gateway_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const system = "gatewright-system"

// resolvePlaced resolves the Gateway infra/gw, whose class has the ProxyConfig infra/class, in an installation that has proxies in a
// namespace of its own.
func resolvePlaced(t *testing.T, own, ofClass string) gateway.Resolved {
	t.Helper()
	objects := resolvetest.Objects(t, `
kind: GatewayClass
metadata: {name: ours}
spec:
  controllerName: gatewright.dev/gateway-controller
  parametersRef: {group: gatewright.dev, kind: ProxyConfig, namespace: infra, name: class}
---
`+ofClass+header+own+`
  listeners: [{name: http, port: 80, protocol: HTTP}]
`)
	objects.System = system
	classes := store.NewTable[class.Resolved](store.New(), "class")
	classes.Set("ours", class.Resolve(nil, objects, "ours"))
	return gateway.Resolve(nil, objects, classes, "infra/gw")
}

func classConfig(spec string) string {
	return "\nkind: ProxyConfig\nmetadata: {namespace: infra, name: class}\nspec: " + spec + "\n---\n"
}

func ownConfig(spec string) string {
	return "\nkind: ProxyConfig\nmetadata: {namespace: infra, name: own}\nspec: " + spec + "\n---\n"
}

// namesOwn is a Gateway's reference to a ProxyConfig of its own.
const namesOwn = `  infrastructure: {parametersRef: {group: gatewright.dev, kind: ProxyConfig, name: own}}`

// TestProxiesArePlacedByTheClass says where proxies may be that are given what a Gateway serves. A Gateway whose own parameters are wrong
// changes nothing about it.
func TestProxiesArePlacedByTheClass(t *testing.T) {
	t.Parallel()
	beside := "\nkind: Deployment\nmetadata: {namespace: infra, name: gw-ours, ownerReferences: [{kind: Gateway, name: gw, uid: u, " +
		"controller: true}]}\n---\n"
	for _, c := range []struct{ name, own, class, want string }{
		{"beside the Gateway", "", classConfig("{}"), "infra"},
		{"in Gatewright's namespace", "", classConfig("{placement: GatewrightNamespace}"), system},
		{"shared", "", classConfig("{placement: Shared}"), system},
		{
			"in Gatewright's namespace, and the Gateway names a ProxyConfig that is not there", namesOwn,
			classConfig("{placement: GatewrightNamespace}") + beside, system,
		},
		{
			"shared, and the Gateway's own ProxyConfig asks for another placement", namesOwn,
			classConfig("{placement: Shared}") + ownConfig("{placement: GatewayNamespace}") + beside, system,
		},
		{
			"in Gatewright's namespace, and something else is wrong with what the class says", "",
			classConfig("{placement: GatewrightNamespace, drain: {delay: soon}}") + beside, system,
		},
		{"not known without the ProxyConfig of the class", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := resolvePlaced(t, c.own, c.class).Gateway.Fleet.Placed; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestProxiesArePlacedNowhereWhereGatewrightDoesNotWatchItsNamespace(t *testing.T) {
	t.Parallel()
	objects := resolvetest.Objects(
		t,
		classConfig("{placement: GatewrightNamespace}")+header+"  listeners: [{name: http, port: 80, protocol: HTTP}]",
	)
	classes := store.NewTable[class.Resolved](store.New(), "class")
	classes.Set("ours", class.Resolved{Ours: true, Parameters: "infra/class"})
	if got := gateway.Resolve(nil, objects, classes, "infra/gw").Gateway.Fleet.Placed; got != ir.NoNamespace {
		t.Errorf("got %q", got)
	}
}
