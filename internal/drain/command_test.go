package drain_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/drain"
	"github.com/gatewright/gatewright/internal/version"
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
	var stdout, stderr strings.Builder
	err := drain.Command(ctx, []string{
		"drain", "--admin", socket, "--pressure", pressure, "--quiet", "0s", "--spread", "1s", "--log-file", log,
	}, &stdout, &stderr)
	if err != nil || stdout.Len() > 0 || stderr.Len() > 0 {
		t.Errorf("got %v, and printed: %s%s", err, stdout.String(), stderr.String())
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
	}, io.Discard, &stderr)
	if err != nil || !strings.Contains(stderr.String(), "the proxy drains") {
		t.Errorf("got %v, and on standard error: %s", err, stderr.String())
	}
}

func TestCommandPrintsTheVersion(t *testing.T) {
	t.Parallel()
	var stdout strings.Builder
	err := drain.Command(t.Context(), []string{"version"}, &stdout, io.Discard)
	if want := version.Current().Text(); err != nil || stdout.String() != want {
		t.Errorf("got %v, and printed %q, want %q", err, stdout.String(), want)
	}
}

func TestCommandLineThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{
		nil,
		{"install"},
		{"version", "more"},
		{"--admin", "s", "--pressure", "p"},
		{"drain", "--admin", "s"},
		{"drain", "--pressure", "p"},
		{"drain", "--admin", "s", "--pressure", "p", "more"},
		{"drain", "--admin", "s", "--pressure", "p", "--quiet", "5"},
		{"drain", "--admin", "s", "--pressure", "p", "--unknown"},
	} {
		var stderr strings.Builder
		if err := drain.Command(t.Context(), arguments, io.Discard, &stderr); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("%v: got %v", arguments, err)
		}
	}
}
