//go:build e2e

package e2e

import (
	"os"
	"testing"

	"github.com/gatewright/gatewright/test/live"
)

func TestMain(m *testing.M) { os.Exit(live.Run(m)) }

// fixture is what a test has; the methods of this package's own tests are on it too.
type fixture struct{ *live.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{live.New(t)}
}
