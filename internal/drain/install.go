package drain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Install copies a program to a path where a container whose image does not have it can run it.
func Install(program, path string) (err error) {
	from, err := os.Open(program) //nolint:gosec // who calls says what
	if err != nil {
		return fmt.Errorf("open the program: %w", err)
	}
	defer func() { _ = from.Close() }()
	// An interrupted installation may have left it; it is read-only.
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what is left of %s: %w", path, err)
	}
	to, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o550) //nolint:gosec // who calls says where
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}
