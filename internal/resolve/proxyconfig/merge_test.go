package proxyconfig

import (
	"math"
	"testing"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

func TestMergingParametersKeepsNumbers(t *testing.T) {
	t.Parallel()
	own := v1alpha1.ProxyConfigSpec{Limits: &v1alpha1.Limits{Connections: new(int64(math.MaxInt64))}}
	merged, err := Merge(v1alpha1.ProxyConfigSpec{}, own)
	if err != nil {
		t.Fatal(err)
	}
	if got := *merged.Limits.Connections; got != math.MaxInt64 {
		t.Errorf("got %d", got)
	}
}
