package filter_test

import (
	"strings"
	"testing"

	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
)

// extensionAt reads what the filter at a place runs.
func extensionAt(t *testing.T, rule *ir.Rule, place int, into proto.Message) {
	t.Helper()
	var route compositev3.CompositePerRoute
	if err := filter.Route(&ir.VirtualHost{}, rule)[filter.Extension(place)].UnmarshalTo(&route); err != nil {
		t.Fatal(err)
	}
	var action compositev3.ExecuteFilterAction
	if err := route.GetMatcher().GetOnNoMatch().GetAction().GetTypedConfig().UnmarshalTo(&action); err != nil {
		t.Fatal(err)
	}
	if err := action.GetTypedConfig().GetTypedConfig().UnmarshalTo(into); err != nil {
		t.Fatal(err)
	}
}

func TestExtensionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	server := &ir.ExtProc{
		Backend: ir.Backend{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: ir.BackendHTTP2},
		Request: &ir.ExtProcMessage{Body: ir.BodyFullDuplex},
	}
	rule := &ir.Rule{Extensions: &ir.Extensions{List: []ir.Extension{{Lua: &ir.Lua{Source: "a\"\\\n\xff", Context: `{"k":[1,"v"]}`}}, {ExtProc: server}}}}
	if configs := filter.Route(&ir.VirtualHost{}, rule); len(configs) != 2 {
		t.Errorf("configured: %v", configs)
	}
	var script luav3.Lua
	extensionAt(t, rule, 0, &script)
	source := script.GetDefaultSourceCode().GetInlineString()
	if !strings.HasPrefix(source, `local source = "a\034\092\010\255"`) || !strings.Contains(source, `{["k"]={1,"v",},}`) {
		t.Errorf("source: %s", source[:200])
	}
	if script.GetClearRouteCache() == nil || script.GetClearRouteCache().GetValue() {
		t.Error("a script may choose another route")
	}
	var processor extprocv3.ExternalProcessor
	extensionAt(t, rule, 1, &processor)
	mode := processor.GetProcessingMode()
	if processor.GetFailureModeAllow() || processor.GetRouteCacheAction() != extprocv3.ExternalProcessor_RETAIN ||
		mode.GetRequestTrailerMode() != extprocv3.ProcessingMode_SEND || mode.GetResponseHeaderMode() != extprocv3.ProcessingMode_SKIP ||
		processor.GetGrpcService().GetEnvoyGrpc().GetClusterName() != "a/b/80/http2" {
		t.Errorf("processor: %v", &processor)
	}
}

func TestExtensionsAreOnlyWhereTheyAreEnabled(t *testing.T) {
	t.Parallel()
	has := func(chain ir.Chain) bool {
		for _, f := range filter.Chain(&ir.Port{}, &chain) {
			if f.GetName() == filter.Extension(0) {
				return true
			}
		}
		return false
	}
	if has(ir.Chain{}) || !has(ir.Chain{Extensions: true}) {
		t.Error("listeners have the filters of extensions where they are not enabled, or lack them where they are")
	}
	if filter.Unneeded(false)[filter.Extension(0)] != nil || filter.Unneeded(true)[filter.Extension(0)] == nil {
		t.Error("route tables do not agree with listeners")
	}
}
