package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// chartNames are the charts of the release, in the order of installation.
var chartNames = []string{"gatewright-crds", "gatewright"}

// chart is where charts has put a chart.
func (b *build) chart(name string) string {
	return filepath.Join(b.files, name+"-"+strings.TrimPrefix(b.version, "v")+".tgz")
}

// charts packages the charts of the commit with the version, and the digest of the image.
func (b *build) charts(ctx context.Context) error {
	values := filepath.Join(b.tree, "charts", "gatewright", "values.yaml")
	if err := replaceOnce(values, "\n  tag: \"\"\n",
		fmt.Sprintf("\n  tag: %s@%s\n", b.version, b.named[b.registry+"/gatewright"])); err != nil {
		return err
	}
	for _, name := range chartNames {
		if _, err := run(ctx, b.tree, nil, b.helm, "package", filepath.Join("charts", name), "--destination="+b.files,
			"--version="+strings.TrimPrefix(b.version, "v"), "--app-version="+b.version); err != nil {
			return err
		}
		if err := normalise(b.chart(name)); err != nil {
			return err
		}
	}
	return nil
}

func replaceOnce(file, from, to string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the values of the chart: %w", err)
	}
	if n := strings.Count(string(content), from); n != 1 {
		return fmt.Errorf("%s has %q %d times, want once", file, from, n)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), from, to, 1)), 0o600); err != nil {
		return fmt.Errorf("write the values of the chart: %w", err)
	}
	return nil
}

// normalise packs a chart anew, sorted and without times and owners.
func normalise(file string) error {
	packed, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read a chart: %w", err)
	}
	var again bytes.Buffer
	if err := repack(packed, &again); err != nil {
		return fmt.Errorf("pack %s again: %w", filepath.Base(file), err)
	}
	if err := os.WriteFile(file, again.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write a chart: %w", err)
	}
	return nil
}

func repack(packed []byte, to io.Writer) error {
	unzip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	var names []string
	contents := map[string][]byte{}
	for r := tar.NewReader(unzip); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read an entry: %w", err)
		}
		if contents[header.Name], err = io.ReadAll(r); err != nil {
			return fmt.Errorf("read %s: %w", header.Name, err)
		}
		names = append(names, header.Name)
	}
	slices.Sort(names)
	zip := gzip.NewWriter(to)
	w := tar.NewWriter(zip)
	for _, name := range names {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(contents[name])), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := w.Write(contents[name]); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}
