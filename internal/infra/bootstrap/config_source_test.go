package bootstrap

import (
	"strings"
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/ir"
)

func TestFilesInsteadOfXDS(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	gateway.Fleet.Delivery = ir.Files
	bootstrap, files := bootstrapOf(t, gateway, exampleOptions())
	ready := &hcmv3.HttpConnectionManager{}
	filters := bootstrap.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()
	if err := filters[0].GetTypedConfig().UnmarshalTo(ready); err != nil {
		t.Fatal(err)
	}
	loaded := ready.GetRds().GetConfigSource().GetPathConfigSource().GetPath()
	listeners := bootstrap.GetDynamicResources().GetLdsConfig().GetPathConfigSource()
	tests := []struct {
		name string
		ok   bool
	}{
		{
			"no proxy connects to the control plane",
			bootstrap.GetDynamicResources().GetAdsConfig() == nil && len(bootstrap.GetStaticResources().GetClusters()) == 0,
		},
		{"no proxy has a token or authorities", len(files) == 1},
		{"listeners are read through the link that a kubelet renames", listeners.GetPath() == layout.Directory+"/..data/"+layout.Listeners},
		{"the directory of that link is watched", listeners.GetWatchedDirectory().GetPath() == layout.Directory},
		{"the ready listener returns what was loaded", strings.HasSuffix(loaded, layout.Loaded)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if !test.ok {
				t.Errorf("not so: %s", bootstrap)
			}
		})
	}
}
