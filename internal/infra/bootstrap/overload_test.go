package bootstrap

import (
	"slices"
	"strings"
	"testing"

	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	injectedv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/injected_resource/v3"

	"github.com/gatewright/gatewright/internal/drain"
)

func TestConnectionsGoByAFile(t *testing.T) {
	t.Parallel()
	options := exampleOptions()
	options.DrainHelper = true
	bootstrap, _ := exampleBootstrap(t, options)
	overload := bootstrap.GetOverloadManager()
	monitor := &injectedv3.InjectedResourceConfig{}
	if err := overload.GetResourceMonitors()[0].GetTypedConfig().UnmarshalTo(monitor); err != nil || monitor.GetFilename() != PressureFile {
		t.Errorf("the file is %s, %v", monitor.GetFilename(), err)
	}
	timers := &overloadv3.ScaleTimersOverloadActionConfig{}
	if err := overload.GetActions()[0].GetTypedConfig().UnmarshalTo(timers); err != nil {
		t.Fatal(err)
	}
	factors := timers.GetTimerScaleFactors()
	if len(factors) != 1 || factors[0].GetTimer() != overloadv3.ScaleTimersOverloadActionConfig_HTTP_DOWNSTREAM_CONNECTION_MAX {
		t.Errorf("timers are %v; streams must not be ended", factors)
	}
	if got := bootstrap.GetStaticResources().GetListeners()[0].GetStatPrefix(); !strings.HasPrefix(got, drain.OwnListener) {
		t.Errorf("connections of the kubelet are counted as %s", got)
	}
	without, _ := exampleBootstrap(t, exampleOptions())
	injected := func(m *overloadv3.ResourceMonitor) bool { return m.GetName() == injectedMonitor }
	if slices.ContainsFunc(without.GetOverloadManager().GetResourceMonitors(), injected) {
		t.Error("a proxy without the program watches a file that does not exist")
	}
}
