package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

// options are the flags.
type options struct {
	version, checkout, out    string
	helm, cyclonedx, cosign   string
	repository, registry, key string
}

func main() {
	var o options
	flag.StringVar(&o.version, "version", "", "what the release is called: a semantic version with a v")
	flag.StringVar(&o.checkout, "checkout", "..", "the checkout whose commit is released")
	flag.StringVar(&o.out, "out", "../dist", "where the directory of the release is made")
	flag.StringVar(&o.helm, "helm", "helm", "the program helm")
	flag.StringVar(&o.cyclonedx, "cyclonedx", "cyclonedx-gomod", "the program cyclonedx-gomod")
	flag.StringVar(&o.cosign, "cosign", "cosign", "the program cosign")
	flag.StringVar(&o.key, "key", "", "the private key that signs, for cosign; nothing is signed without")
	flag.StringVar(&o.repository, "repository", "https://github.com/gatewright/gatewright", "where the source is")
	flag.StringVar(&o.registry, "registry", "ghcr.io/gatewright", "where the images will be")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := release(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// semver is a semantic version without build metadata, because neither a tag of an image nor the value of a label can have a plus.
var semver = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?$`)

// release makes the directory of the release, whole or not at all.
func release(ctx context.Context, o options) (err error) {
	if !semver.MatchString(o.version) {
		return fmt.Errorf("VERSION=%q is not a semantic version with a v and without a plus, such as v0.1.0 or v0.1.0-rc.1", o.version)
	}
	from, err := readSource(ctx, o.checkout)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-*")
	if err != nil {
		return fmt.Errorf("make a directory to work in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	b := build{options: o, source: from, tree: filepath.Join(work, "source"), work: work, files: filepath.Join(work, "files")}
	if err := errors.Join(os.Mkdir(b.tree, 0o755), os.Mkdir(b.files, 0o755)); err != nil {
		return fmt.Errorf("make a directory to work in: %w", err)
	}
	for _, step := range []func(context.Context) error{
		b.export, b.programs, b.images, b.charts, b.manifests, b.notes, b.provenance, b.checksums, b.sign,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return b.publish()
}

// build is one release while it is made.
type build struct {
	options
	source
	tree  string            // the files of the commit
	work  string            // what is not part of the release
	files string            // the release
	named map[string]string // digests of images, by repository
}

// publish replaces what an earlier build of the same version has made. Files have the time of the commit: Helm copies that of a chart into
// the manifest that it pushes.
func (b *build) publish() error {
	to := filepath.Join(b.out, b.version)
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
		return fmt.Errorf("make room for %s: %w", to, err)
	}
	names, err := b.list()
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(b.files, name))
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		file := filepath.Join(to, name)
		if err := errors.Join(os.WriteFile(file, content, 0o644), os.Chtimes(file, b.time, b.time)); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	fmt.Printf("%s of commit %s is in %s\n", b.version, b.commit, to)
	return nil
}

// list returns the names of the files of the release, sorted.
func (b *build) list() ([]string, error) {
	entries, err := os.ReadDir(b.files)
	if err != nil {
		return nil, fmt.Errorf("list the files of the release: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}
