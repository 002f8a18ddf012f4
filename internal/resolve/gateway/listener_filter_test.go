package gateway_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const extensions = `
---
kind: Service
metadata: {namespace: infra, name: server}
spec: {ports: [{port: 80}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {namespace: infra, name: one}
spec: {extProc: [{backendRefs: [{name: server, port: 80}], processingMode: {request: {}}}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {namespace: infra, name: five}
spec:
  extProc:
    - backendRefs: [{name: server, port: 80}]
    - backendRefs: [{name: server, port: 80}]
    - backendRefs: [{name: server, port: 80}]
    - backendRefs: [{name: server, port: 80}]
    - backendRefs: [{name: server, port: 80}]
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {namespace: infra, name: script}
spec: {lua: [{inline: x}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {namespace: infra, name: elsewhere}
spec: {extProc: [{backendRefs: [{name: server, namespace: app, port: 80}]}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {namespace: app, name: other}
spec: {extProc: [{backendRefs: [{name: server, port: 80}]}]}
`

func TestExtensionsOfListeners(t *testing.T) {
	t.Parallel()
	auth := "{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: server, port: 80}}}"
	use := func(name string) string {
		return "{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Extension, name: " + name + "}}"
	}
	for _, c := range []struct {
		name    string
		filters []string
		off     bool
		// filters of the listener: A for authorization, E for a server, - for one that cannot be served.
		want, reason, message string
	}{
		{name: "in the order of the list", filters: []string{use("one"), auth, use("one")}, want: "EAE", reason: "ResolvedRefs"},
		{name: "several servers", filters: []string{auth, use("five")}, want: "AEEEEE", reason: "ResolvedRefs"},
		{
			name: "too many servers", filters: []string{use("five"), use("five")}, want: "EEEEE-", reason: "InvalidListenerFilterRef",
			message: "filters.requests[1]: the Extensions of the listener have more than 8 servers; use fewer",
		},
		{
			name: "one that is not there", filters: []string{auth, use("none")}, want: "A-", reason: "InvalidListenerFilterRef",
			message: "filters.requests[1]: Extension infra/none does not exist; create it, or correct the name; until then requests are " +
				"answered 500",
		},
		{name: "one of another namespace", filters: []string{use("other")}, want: "-", reason: "InvalidListenerFilterRef"},
		{name: "a script", filters: []string{use("script")}, want: "-", reason: "InvalidListenerFilterRef", message: "lua cannot be"},
		{name: "a server without a grant", filters: []string{use("elsewhere")}, want: "-", reason: "RefNotPermitted"},
		{
			name: "a type that is not enabled", filters: []string{use("one")}, off: true, want: "-", reason: "InvalidListenerFilterRef",
			message: "extensions.extProc.enabled",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := resolvetest.Objects(t, header+"  listeners: [{name: a, port: 80, protocol: HTTP, filters: {requests: ["+
				strings.Join(c.filters, ", ")+"]}}, {name: b, port: 80, protocol: HTTP, hostname: b.org}]"+extensions)
			objects.EnabledExtensions = store.ExtensionTypes{ExtProc: !c.off, Lua: true}
			classes := store.NewTable[class.Resolved](store.New(), "class")
			classes.Set("ours", class.Resolved{Ours: true})
			r := gateway.Resolve(nil, objects, classes, "infra/gw")
			places := r.Gateway.Ports[0].Chains[0].Filters
			if got := letters(r.Listeners[0].Filters); got != c.want || !r.Listeners[0].Attachable || places != len(c.want) {
				t.Errorf("filters %s in %d places, want %s; attachable: %t", got, places, c.want, r.Listeners[0].Attachable)
			}
			resolved := condition(r.Listeners[0].Conditions, "ResolvedRefs")
			if resolved.Reason != c.reason || !strings.Contains(resolved.Message, c.message) {
				t.Errorf("ResolvedRefs: %+v", resolved)
			}
			if other := condition(r.Listeners[1].Conditions, "ResolvedRefs"); other.State != outcome.True || len(r.Listeners[1].Filters) > 0 {
				t.Errorf("the other listener: %+v", r.Listeners[1])
			}
		})
	}
}

func letters(filters []ir.ListenerFilter) string {
	text := ""
	for _, f := range filters {
		switch {
		case f.Auth != nil:
			text += "A"
		case f.ExtProc != nil:
			text += "E"
		default:
			text += "-"
		}
	}
	return text
}

func condition(all []outcome.Condition, name string) outcome.Condition {
	for _, c := range all {
		if c.Type == name {
			return c
		}
	}
	return outcome.Condition{}
}
