package app

import (
	"testing"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/xds"
)

func TestProxiesNameTheirAnchorAsTheServerExpects(t *testing.T) {
	t.Parallel()
	if render.AnchorMetadata != xds.AnchorMetadata {
		t.Errorf("the bootstrap says %q, the xDS server looks for %q", render.AnchorMetadata, xds.AnchorMetadata)
	}
}
