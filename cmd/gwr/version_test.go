package main

import (
	"bytes"
	"testing"

	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/version"
)

func TestVersionIsPrintedWithWhatItIsMadeFor(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	cmd := command()
	cmd.SetOut(&stdout)
	cmd.SetArgs([]string{"version"})
	want := version.Current().Text() + "envoy:      " + render.EnvoyVersion + "\ngatewayAPI: " + consts.BundleVersion + "\n"
	if err := cmd.Execute(); err != nil || stdout.String() != want {
		t.Errorf("got %v, and printed:\n%swant:\n%s", err, stdout.String(), want)
	}
}
