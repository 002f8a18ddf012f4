package extension_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/extension"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const objects = `
kind: Service
metadata: {namespace: app, name: server}
spec: {ports: [{port: 80}]}
---
kind: ConfigMap
metadata: {namespace: app, name: script}
data: {lua: "function envoy_on_request(handle) end"}
---
kind: ConfigMap
metadata: {namespace: app, name: empty}
data: {other: x}
---
apiVersion: gatewright.dev/v1alpha1
kind: Extension
metadata: {namespace: app, name: e}
spec: `

func resolve(t *testing.T, spec string, types store.ExtensionTypes) (list []ir.Extension, text string) {
	t.Helper()
	loaded := resolvetest.Objects(t, objects+spec+"\n")
	loaded.EnabledExtensions = types
	list, problem, message := extension.Resolve(nil, loaded, "app", "e")
	if problem != nil {
		return list, problem.Reason + ": " + problem.Message
	}
	return list, message
}

func TestResolveRejects(t *testing.T) {
	t.Parallel()
	server := func(rest string) string { return "{extProc: [{backendRefs: [{name: server, port: 80}]" + rest + "}]}" }
	all := store.ExtensionTypes{ExtProc: true, Lua: true}
	for _, c := range []struct {
		name, spec string
		types      store.ExtensionTypes
		want       string
	}{
		{"servers that the operator has not enabled", server(""), store.ExtensionTypes{Lua: true}, "extensions.extProc.enabled"},
		{"scripts that the operator has not enabled", "{lua: [{inline: x}]}", store.ExtensionTypes{ExtProc: true}, "extensions.lua.enabled"},
		{
			"a server that does not exist", "{extProc: [{backendRefs: [{name: none, port: 80}]}]}", all,
			"BackendNotFound: Extension app/e: extProc[0].backendRefs[0]",
		},
		{"no server", "{extProc: [{}]}", all, "name one"},
		{"a server elsewhere without a grant", "{extProc: [{backendRefs: [{name: server, namespace: web, port: 80}]}]}", all, "RefNotPermitted"},
		{"no time", server(", messageTimeout: 0s"), all, "messageTimeout"},
		{"an attribute that is an expression", server(", processingMode: {request: {attributes: ['request.path()']}}"), all, "attributes"},
		{"metadata of Envoy", server(", metadata: {writableNamespaces: [envoy.lb]}"), all, "belongs to Envoy"},
		{"full duplex that fails open", server(", failOpen: true, processingMode: {request: {body: FullDuplexStreamed}}"), all, "failOpen"},
		{"a buffered body for a shadow", server(", shadowMode: true, processingMode: {request: {body: Buffered}}"), all, "shadowMode"},
		{"a status that Envoy does not know", server(", statusOnError: 418"), all, "statusOnError"},
		{"a status that is no error", server(", statusOnError: 200"), all, "statusOnError"},
		{"a script that is too long", "{lua: [{inline: " + strings.Repeat("a", 32<<10+1) + "}]}", all, "more than 32768 bytes"},
		{
			"a ConfigMap that does not exist", "{lua: [{type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: none}}]}", all,
			"ScriptNotFound",
		},
		{"a ConfigMap without the key", "{lua: [{type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: empty}}]}", all, "has no key lua"},
		{"a context that is no object", "{lua: [{inline: x, filterContext: [1]}]}", all, "is not an object"},
		{
			"a context that is nested too deeply",
			"{lua: [{inline: x, filterContext: {a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}}]}", all, "nested",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if list, text := resolve(t, c.spec, c.types); !strings.Contains(text, c.want) || list != nil {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
	t.Run("one that does not exist", func(t *testing.T) {
		t.Parallel()
		_, problem, _ := extension.Resolve(nil, resolvetest.Objects(t, ""), "app", "none")
		if problem == nil || problem.Reason != extension.ReasonExtensionNotFound {
			t.Errorf("%+v", problem)
		}
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	list, text := resolve(t, "{lua: [{type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: script}, filterContext: {b: 1, a: x}}], "+
		"extProc: [{backendRefs: [{name: server, port: 80}], processingMode: {response: {body: Streamed}}, "+
		"metadata: {writableNamespaces: [envoy.lb.subset_hint]}}]}", store.ExtensionTypes{ExtProc: true, Lua: true})
	if text != "" || len(list) != 2 {
		t.Fatalf("%v, %s", list, text)
	}
	server, script := list[0].ExtProc, list[1].Lua
	if server == nil || server.Backend.String() != "app/server/80/http2" || server.FailOpen ||
		server.Request != nil || server.Response.Body != ir.BodyStreamed || !slices.Equal(server.Writable, []string{ir.SubsetMetadata}) {
		t.Errorf("server: %+v", server)
	}
	if script == nil || script.Source != "function envoy_on_request(handle) end" || script.Context != `{"a":"x","b":1}` {
		t.Errorf("script: %+v", script)
	}
}
