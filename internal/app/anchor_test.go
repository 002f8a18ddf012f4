package app

import (
	"testing"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/xds"
)

func TestProxiesNameTheirAnchorAsTheServerExpects(t *testing.T) {
	t.Parallel()
	if bootstrap.AnchorMetadata != xds.AnchorMetadata {
		t.Errorf("the bootstrap says %q, the xDS server looks for %q", bootstrap.AnchorMetadata, xds.AnchorMetadata)
	}
}
