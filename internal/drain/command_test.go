package drain_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/drain"
)

// TestCommand runs the hook as pods have it, against an Envoy with connections that stay open.
func TestCommand(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var asked []string
	socket := envoy(t, func(request string) {
		// The time limit of the hook is over once the connections were counted twice.
		if asked = append(asked, request); len(asked) == 3 {
			end()
		}
	})
	directory := t.TempDir()
	pressure, log := filepath.Join(directory, "pressure"), filepath.Join(directory, "log")
	if err := os.WriteFile(log, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	err := drain.Command(ctx, []string{
		"drain", "--admin", socket, "--pressure", pressure, "--quiet", "0s", "--spread", "1s", "--log-file", log,
	}, &stderr)
	if err != nil || stderr.Len() > 0 {
		t.Errorf("got %v, and on standard error: %s", err, stderr.String())
	}
	if len(asked) < 2 || asked[0] != "POST /drain_listeners" || asked[1] != "GET /stats" {
		t.Errorf("asked %s", strings.Join(asked, ", "))
	}
	said, err := os.ReadFile(log) //nolint:gosec // a file of this test
	if err != nil || !strings.HasPrefix(string(said), "before\n") || !strings.Contains(string(said), "open=5") {
		t.Errorf("the log is %q, %v", said, err)
	}
	if left, err := os.ReadFile(pressure); err != nil || string(left) != "0" { //nolint:gosec // a file of this test
		t.Errorf("a container that is started again finds the pressure %q, %v", left, err)
	}
}

func TestCommandWithoutALogSaysItOnStandardError(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	socket, directory := envoy(t, func(request string) {
		if request == "GET /stats" {
			end()
		}
	}), t.TempDir()
	var stderr strings.Builder
	err := drain.Command(ctx, []string{
		"drain", "--admin", socket, "--pressure", filepath.Join(directory, "pressure"), "--log-file", filepath.Join(directory, "none"),
	}, &stderr)
	if err != nil || !strings.Contains(stderr.String(), "the proxy drains") {
		t.Errorf("got %v, and on standard error: %s", err, stderr.String())
	}
}

func TestCommandLineThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{
		nil,
		{"install"},
		{"--admin", "s", "--pressure", "p"},
		{"drain", "--admin", "s"},
		{"drain", "--pressure", "p"},
		{"drain", "--admin", "s", "--pressure", "p", "more"},
		{"drain", "--admin", "s", "--pressure", "p", "--quiet", "5"},
		{"drain", "--admin", "s", "--pressure", "p", "--unknown"},
	} {
		var stderr strings.Builder
		if err := drain.Command(t.Context(), arguments, &stderr); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("%v: got %v", arguments, err)
		}
	}
}
