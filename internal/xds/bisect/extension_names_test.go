package bisect

import (
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// TestProbesHaveTheExtensionsOfListeners: the package imports no translation, so it repeats their names.
func TestProbesHaveTheExtensionsOfListeners(t *testing.T) {
	t.Parallel()
	filter := probeListener(0, nil, nil).GetFilterChains()[0].GetFilters()[0]
	manager := &hcmv3.HttpConnectionManager{}
	if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	if got := filter.GetName(); got != wire.ConnectionManagerFilter {
		t.Errorf("the connection manager of a probe is %q, that of a listener %q", got, wire.ConnectionManagerFilter)
	}
	if got := manager.GetHttpFilters()[0].GetName(); got != wire.RouterFilter {
		t.Errorf("the router of a probe is %q, that of a listener %q", got, wire.RouterFilter)
	}
}
