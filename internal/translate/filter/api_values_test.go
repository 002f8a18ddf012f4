package filter

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// TestEveryValueOfTheAPIIsTranslated: a value that is not known would silently mean the default.
func TestEveryValueOfTheAPIIsTranslated(t *testing.T) {
	t.Parallel()
	prototest.CheckAPIValues(t, map[string]func(value string) bool{
		"SameSite": func(v string) bool { return cookieConfigs(v) != nil },
		"ExtProcBodyMode": func(v string) bool {
			return slices.Contains([]ir.BodyMode{ir.BodyStreamed, ir.BodyBuffered, ir.BodyPartial, ir.BodyFullDuplex}, ir.BodyMode(v))
		},
	})
}
