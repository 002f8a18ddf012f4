package gateway_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestAGatewaySaysThatItsParametersCannotBeRead is about ProxyConfigs of which only the metadata is known.
func TestAGatewaySaysThatItsParametersCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, own, broken string }{
		{"of the class", "", "class"},
		{"its own", namesOwn, "own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := resolvetest.Objects(t, `
kind: GatewayClass
metadata: {name: ours}
spec:
  controllerName: gatewright.dev/gateway-controller
  parametersRef: {group: gatewright.dev, kind: ProxyConfig, namespace: infra, name: class}
---
`+classConfig("{}")+ownConfig("{}")+header+c.own+`
  listeners: [{name: http, port: 80, protocol: HTTP}]
`)
			objects.System = system
			config := &v1alpha1.ProxyConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: c.broken}}
			store.MarkUnreadable(config, "quantities are short")
			objects.Apply(store.Change{Kind: store.ProxyConfig, Key: "infra/" + c.broken, Object: config})
			classes := store.NewTable[class.Resolved](store.New(), "class")
			classes.Set("ours", class.Resolve(nil, objects, "ours"))
			held := gateway.Resolve(nil, objects, classes, "infra/gw").Frozen
			if want := "ProxyConfig infra/" + c.broken + ", which cannot be read: quantities are short; correct it"; !strings.Contains(held, want) {
				t.Errorf("the Gateway says %q, want %q", held, want)
			}
		})
	}
}

func TestASelectorOfNamespacesHasAnEnd(t *testing.T) {
	t.Parallel()
	listener := func(values int) string {
		return header + `
  listeners:
  - name: http
    port: 80
    protocol: HTTP
    allowedRoutes: {namespaces: {from: Selector, selector: {matchExpressions: [{key: a, operator: In, values: [x` + strings.Repeat(", x", values-1) + `]}]}}}
`
	}
	for values, refused := range map[int]bool{255: false, 256: true} {
		r := resolve(t, listener(values))
		said := false
		for _, condition := range r.Listeners[0].Conditions {
			said = said || strings.Contains(condition.Message, "more than 256 labels and values")
		}
		if said != refused {
			t.Errorf("with %d values: %+v", values, r.Listeners[0].Conditions)
		}
	}
}
