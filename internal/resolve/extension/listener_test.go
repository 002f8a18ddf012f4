package extension_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/extension"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

func ofListener(t *testing.T, spec string, types store.ExtensionTypes) (list []ir.ListenerFilter, text string) {
	t.Helper()
	loaded := resolvetest.Objects(t, objects+spec+"\n")
	loaded.EnabledExtensions = types
	list, problem, message := extension.OfListener(nil, loaded, "app", "e")
	if problem != nil {
		return list, problem.Reason + ": " + problem.Message
	}
	return list, message
}

func TestOfListener(t *testing.T) {
	t.Parallel()
	server := func(rest string) string { return "{extProc: [{backendRefs: [{name: server, port: 80}]" + rest + "}]}" }
	all := store.ExtensionTypes{ExtProc: true, Lua: true}
	for _, c := range []struct {
		name, spec string
		types      store.ExtensionTypes
		// want is a part of the message, empty for an Extension that is served.
		want string
	}{
		{"headers", server(", processingMode: {request: {}}"), all, ""},
		{"a whole body", server(", processingMode: {request: {body: Buffered, attributes: [request.path]}}"), all, ""},
		{"a body that is streamed both ways", server(", processingMode: {request: {body: FullDuplexStreamed}}"), all, ""},
		{"a response that is streamed", server(", processingMode: {response: {body: Streamed}}"), all, ""},
		{"a body for a server whose answers do not count", server(", shadowMode: true, processingMode: {request: {body: Streamed}}"), all, ""},
		{
			"a body that is streamed", server(", processingMode: {request: {body: Streamed}}"), all,
			"Extension app/e: extProc[0].processingMode.request.body Streamed cannot be used in a filter of a listener",
		},
		{"a part of a body", server(", processingMode: {request: {body: BufferedPartial}}"), all, "use Buffered or FullDuplexStreamed"},
		{"scripts", "{lua: [{inline: x}]}", all, "Extension app/e: lua cannot be a filter of a listener"},
		{"scripts beside a server", strings.TrimSuffix(server(""), "}") + ", lua: [{inline: x}]}", all, "lua cannot be a filter"},
		{"nothing", "{}", all, "has no extProc"},
		{"servers that the operator has not enabled", server(""), store.ExtensionTypes{Lua: true}, "extensions.extProc.enabled"},
		{"a server that does not exist", "{extProc: [{backendRefs: [{name: none, port: 80}]}]}", all, "BackendNotFound: Extension app/e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list, text := ofListener(t, c.spec, c.types)
			served := len(list) == 1 && list[0].Backend().String() == "app/server/80/http2"
			if c.want == "" && (text != "" || !served) || c.want != "" && (!strings.Contains(text, c.want) || list != nil) {
				t.Errorf("got %v, %q, want %q", list, text, c.want)
			}
		})
	}
	t.Run("one that does not exist", func(t *testing.T) {
		t.Parallel()
		_, problem, _ := extension.OfListener(nil, resolvetest.Objects(t, ""), "app", "none")
		if problem == nil || problem.Reason != extension.ReasonExtensionNotFound {
			t.Errorf("%+v", problem)
		}
	})
}
