//go:build e2e

package e2e

import (
	"os"
	"testing"

	"github.com/gatewright/gatewright/test/live"
)

func TestMain(m *testing.M) { os.Exit(live.Run(m)) }

// world is what a test has; the methods of this package's own tests are on it too.
type world struct{ *live.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{live.New(t)}
}
