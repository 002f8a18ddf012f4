package app

import (
	"bytes"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/version"
)

func TestVersionIsPrintedWithWhatItIsMadeFor(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	command := Command()
	command.SetOut(&stdout)
	command.SetArgs([]string{"version"})
	want := version.Current().Text() + "envoy:      " + render.EnvoyVersion + "\ngatewayAPI: " + consts.BundleVersion + "\n"
	if err := command.Execute(); err != nil || stdout.String() != want {
		t.Errorf("got %v, and printed:\n%swant:\n%s", err, stdout.String(), want)
	}
}

func TestTheBuildIsMeasured(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	measureBuild(registry, version.Info{Version: "v0.1.0", Revision: "0123", Go: "go1.99"})
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "gatewright_build_info" {
		t.Fatalf("measured %v, %v", families, err)
	}
	metric := families[0].GetMetric()[0]
	labels := map[string]string{}
	for _, label := range metric.GetLabel() {
		labels[label.GetName()] = label.GetValue()
	}
	if metric.GetGauge().GetValue() != 1 || labels["version"] != "v0.1.0" || labels["revision"] != "0123" || labels["goversion"] != "go1.99" {
		t.Errorf("measured %v", metric)
	}
}
