package traffic_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/traffic"
)

// TestEverySettingIsAField checks that what is merged in policies is merged in values too.
func TestEverySettingIsAField(t *testing.T) {
	t.Parallel()
	for _, s := range traffic.Kind.Settings {
		if inherit.IsRequest(s.Name) == inherit.IsDestination(s.Name) {
			t.Errorf("%s is not the setting of one field of ir.RequestPolicy or ir.DestinationSettings", s.Name)
		}
	}
}
