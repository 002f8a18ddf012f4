package drain_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatewright/gatewright/internal/drain"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	program, path := filepath.Join(t.TempDir(), drain.Program), filepath.Join(t.TempDir(), "program")
	if err := drain.Install(program, path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is no program, and the error is %v", err)
	}
	if err := os.WriteFile(program, []byte("a program"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte("interrupted"), 0o400); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a pod may be started again
		if err := drain.Install(program, path); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path) //nolint:gosec // a file of this test
	if err != nil || string(content) != "a program" {
		t.Errorf("got %q, %v", content, err)
	}
	if got, err := os.Stat(path); err != nil || got.Mode().Perm() != 0o550 {
		t.Errorf("got %v, %v", got, err)
	}
}
