package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// source is the commit that is released.
type source struct {
	commit string
	time   time.Time
}

// readSource refuses a checkout with changes, which the release would not have.
func readSource(ctx context.Context, checkout string) (source, error) {
	changes, err := run(ctx, checkout, nil, "git", "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changes != "" {
		return source{}, fmt.Errorf("commit these changes first, or remove them:\n%s", changes)
	}
	commit, err := run(ctx, checkout, nil, "git", "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	hash, at, _ := strings.Cut(strings.TrimSpace(commit), " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("read the time of commit %s: %w", hash, err)
	}
	return source{commit: hash, time: time.Unix(seconds, 0).UTC()}, nil
}

// export writes the files of the commit, without those that git ignores.
func (b *build) export(ctx context.Context) error {
	archive := filepath.Join(b.work, "source.tar")
	if _, err := run(ctx, b.checkout, nil, "git", "archive", "--output="+archive, b.commit); err != nil {
		return err
	}
	_, err := run(ctx, b.tree, nil, "tar", "-xf", archive)
	return err
}

// run returns what a command printed; an error has the rest.
func run(ctx context.Context, dir string, env []string, argv ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return stdout.String(), nil
}
