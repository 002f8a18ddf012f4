package main

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/infra/render"
)

// TestTheClusterHasTheImageOfProxies: the image is made here, so no other version can be pulled.
func TestTheClusterHasTheImageOfProxies(t *testing.T) {
	t.Parallel()
	if !strings.HasSuffix(render.DefaultImage, "-v"+envoyVersion) {
		t.Errorf("proxies run %s, and the cluster has Envoy %s", render.DefaultImage, envoyVersion)
	}
}
