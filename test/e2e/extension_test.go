//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/live"
)

const extensions = `
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {name: script}
spec:
  lua:
    - inline: |
        function envoy_on_request(handle)
          local path = handle:headers():get(":path")
          handle:headers():add("x-lua", handle:filterContext():get("tenant") .. tostring(io))
          if path == "/lua/deny" then handle:respond({[":status"] = "403"}, "no") end
          if path == "/lua/fail" then error("fail") end
          if path == "/lua/call" then handle:httpCall("any", {}, "", 1000) end
          if path == "/lua/loop" then while true do end end
        end
        function envoy_on_response(handle)
          handle:headers():add("x-lua", "response")
        end
      filterContext: {tenant: blue}
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {name: broken}
spec: {lua: [{inline: "function (("}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {name: server}
spec: {extProc: [{backendRefs: [{name: echo, port: 80}], statusOnError: 504, processingMode: {request: {}}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [extensions.example.com]
  rules:
    - matches: [{path: {value: /lua}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Extension, name: script}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /broken}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Extension, name: broken}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /server}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Extension, name: server}}]
      backendRefs: [{name: echo, port: 80}]
    - matches: [{path: {value: /plain}}]
      backendRefs: [{name: echo, port: 80}]`

// TestExtension: scripts run in a sandbox, and what fails answers an error.
func TestExtension(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needEnabled(t, "--extensions=lua", "--extensions=extProc")
	address := w.gatewayAt(t)
	w.makeYAML(t, extensions)
	const host = "extensions.example.com"
	status := func(want int) func(exchange) string { return func(e exchange) string { return check(e.status, want) } }
	w.expect(t, address, host, []step{
		{"a script", "/lua", nil, func(e exchange) string {
			return check(e.status, 200, e.seen.Headers["X-Lua"], []string{"bluenil"}, e.header.Get("X-Lua"), "response")
		}},
		{"a script that answers", "/lua/deny", nil, func(e exchange) string { return check(e.status, 403, e.body, "no") }},
		{"a script that fails", "/lua/fail", nil, status(500)},
		{"a call of another cluster", "/lua/call", nil, status(500)},
		{"a script that does not end", "/lua/loop", nil, status(500)},
		{"a script that does not compile", "/broken", nil, status(500)},
		{"a server that does not answer", "/server", nil, status(504)},
		{"a rule without", "/plain", nil, func(e exchange) string { return check(e.status, 200, e.header.Get("X-Lua"), "") }},
	})
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		e, err := visit(ctx, address, host, "/lua")
		if err != nil || !strings.Contains(e.header.Get("X-Lua"), "response") {
			return fmt.Errorf("after the others: %d, %w", e.status, err)
		}
		return nil
	})
}
