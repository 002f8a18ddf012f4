package render

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

// TestTheBootstrapFollowsTheSettings checks that the ConfigMap has what the settings and the Gateway's parameters ask for.
func TestTheBootstrapFollowsTheSettings(t *testing.T) {
	t.Parallel()
	limited := exampleGateway()
	limited.Fleet.Proxies.Pod.Resources = &ir.Resources{MemoryLimit: 10 << 30}
	unlimited := exampleGateway()
	unlimited.Fleet.Proxies.Pod.Resources = &ir.Resources{}
	tests := []struct {
		name     string
		gateway  ir.Gateway
		settings Settings
		text     string
		want     bool
	}{
		{"the heap follows the default limit", exampleGateway(), exampleSettings(), `"max_heap_size_bytes": "966367642"`, true},
		{"the heap follows the Gateway's limit", limited, exampleSettings(), `"max_heap_size_bytes": "9663676416"`, true},
		{"no limit, no limit of the heap", unlimited, exampleSettings(), "max_heap_size_bytes", false},
		{"the address of the control plane", exampleGateway(), Settings{XDSHost: "192.0.2.1", XDSPort: 7}, `"port_value": 7`, true},
		{"both families", exampleGateway(), Settings{Families: ir.Families{ir.IPv4, ir.IPv6}}, `"::"`, true},
		{"the program that drains", exampleGateway(), helperSettings(), bootstrap.PressureFile, true},
		{"no program that drains", exampleGateway(), exampleSettings(), bootstrap.PressureFile, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := render(t, test.gateway, test.settings, exampleBundle).configMap.Data
			if got := strings.Contains(files[bootstrap.ConfigFile], test.text); got != test.want {
				t.Errorf("contains %s: %v\n%s", test.text, got, files[bootstrap.ConfigFile])
			}
			if files[bootstrap.BundleFile] != string(exampleBundle) {
				t.Errorf("the authorities are %q", files[bootstrap.BundleFile])
			}
		})
	}
}
