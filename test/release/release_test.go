package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// newBuild is a release whose programs are small texts.
func newBuild(t *testing.T) *build {
	t.Helper()
	dir := t.TempDir()
	b := &build{
		options: options{
			version: "v1.2.3", out: filepath.Join(dir, "out"), repository: "https://example.com/source", registry: "example.com/images",
		},
		source: source{commit: commit, time: time.Unix(1700000000, 0).UTC()},
		tree:   filepath.Join(dir, "tree"), work: dir, files: filepath.Join(dir, "files"),
	}
	for _, name := range []string{b.tree, b.files} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, architecture := range architectures {
		for _, name := range programNames {
			write(t, b.program(name, architecture), name+" for "+architecture)
		}
	}
	return b
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestTwoBuildsAreEqual makes whatever needs no compiler and no Helm twice, and publishes it.
func TestTwoBuildsAreEqual(t *testing.T) {
	t.Parallel()
	var sums []string
	for range 2 {
		b := newBuild(t)
		for _, step := range []func() error{
			func() error { return b.images(t.Context()) },
			func() error { return b.provenance(t.Context()) },
			func() error { return b.checksums(t.Context()) },
			b.publish,
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		dir := filepath.Join(b.out, "v1.2.3")
		checked, err := run(t.Context(), dir, nil, "sha256sum", "--check", "--strict", checksumsFile)
		if err != nil || strings.Count(checked, ": OK\n") != 3 {
			t.Errorf("check: %s, %v", checked, err)
		}
		sums = append(sums, read(t, filepath.Join(dir, checksumsFile)))
	}
	if sums[0] != sums[1] {
		t.Errorf("the first build has:\n%sthe second:\n%s", sums[0], sums[1])
	}
}

func TestImagesAreForEveryArchitecture(t *testing.T) {
	t.Parallel()
	b := newBuild(t)
	if err := b.images(t.Context()); err != nil {
		t.Fatal(err)
	}
	index := unpack(t, filepath.Join(b.files, "gatewright-v1.2.3-oci.tar"))
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if digest, err := index.Digest(); err != nil || b.named["example.com/images/gatewright"] != digest.String() {
		t.Errorf("the digest is %v, %v, want one of %v", digest, err, b.named)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, descriptor := range manifest.Manifests {
		platforms = append(platforms, descriptor.Platform.String())
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkConfiguration(t, image, descriptor.Platform.Architecture)
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms: %v", platforms)
	}
}

// unpack returns the only index of a layout.
func unpack(t *testing.T, archive string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	if _, err := run(t.Context(), dir, nil, "tar", "-xf", archive); err != nil {
		t.Fatal(err)
	}
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	top, err := all.IndexManifest()
	if err != nil || len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("the layout has %+v, %v", top, err)
	}
	index, err := all.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func checkConfiguration(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != architecture || config.Config.User != "65532:65532" ||
		!slices.Equal(config.Config.Entrypoint, []string{"/gatewright"}) {
		t.Errorf("the configuration for %s is %+v", architecture, config)
	}
	want := map[string]string{
		"created": "2023-11-14T22:13:20Z", "licenses": "Apache-2.0", "revision": commit, "source": "https://example.com/source",
		"title": "gatewright", "version": "v1.2.3",
	}
	for key, value := range want {
		if got := config.Config.Labels["org.opencontainers.image."+key]; got != value {
			t.Errorf("label %s is %q, want %q", key, got, value)
		}
	}
}

func TestAuthoritiesAreCertificates(t *testing.T) {
	t.Parallel()
	if n := strings.Count(authorities(), "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("%d certificates", n)
	}
}

func TestABillOfMaterialsNamesTheModuleOfTheAPI(t *testing.T) {
	t.Parallel()
	got := newBuild(t).nameAPI(`"bom-ref": "pkg:golang/./api@(devel)?type=module", "name": "./api", "version": "(devel)"`)
	const want = `"bom-ref": "pkg:golang/github.com/gatewright/gatewright/api@v1.2.3?type=module", ` +
		`"name": "github.com/gatewright/gatewright/api", "version": "v1.2.3"`
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestChartsHaveNoTimesAndNoOrder(t *testing.T) {
	t.Parallel()
	contents := map[string]string{"chart/Chart.yaml": "name: chart", "chart/values.yaml": "a: 1"}
	pack := func(names []string, at time.Time) []byte {
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		zip.ModTime = at
		w := tar.NewWriter(zip)
		for _, name := range names {
			header := &tar.Header{Name: name, Mode: at.Unix() % 0o777, ModTime: at, Size: int64(len(contents[name]))}
			if err := w.WriteHeader(header); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, contents[name]); err != nil {
				t.Fatal(err)
			}
		}
		if w.Close() != nil || zip.Close() != nil {
			t.Fatal("the archive does not end")
		}
		return packed.Bytes()
	}
	names := slices.Sorted(maps.Keys(contents))
	var first, second bytes.Buffer
	if err := repack(pack(names, time.Unix(1000, 0)), &first); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(names)
	if err := repack(pack(names, time.Unix(2000, 0)), &second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of the same files differ")
	}
}

func TestObjectsDoNotBelongToHelm(t *testing.T) {
	t.Parallel()
	objects, err := parse(`---
# Source: a comment
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations: {helm.sh/resource-policy: keep, meta.helm.sh/release-name: r, argocd.argoproj.io/sync-options: Prune=false}
  labels: {app.kubernetes.io/managed-by: Helm, helm.sh/chart: c-1, app.kubernetes.io/name: a}
template:
  metadata:
    labels: {helm.sh/chart: c-1, app.kubernetes.io/name: a}
largest: 9223372036854775807
`)
	if err != nil || len(objects) != 1 {
		t.Fatalf("got %v, %v", objects, err)
	}
	withoutHelm(objects[0].Object)
	want := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "largest": int64(9223372036854775807),
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/name": "a"}}},
		"metadata": map[string]any{
			"name":        "a",
			"annotations": map[string]any{"argocd.argoproj.io/sync-options": "Prune=false"},
			"labels":      map[string]any{"app.kubernetes.io/name": "a"},
		},
	}}
	got, err := json.Marshal(objects[0])
	if err != nil {
		t.Fatal(err)
	}
	if wanted, err := json.Marshal(want); err != nil || !bytes.Equal(got, wanted) {
		t.Errorf("got %s\nwant %s, %v", got, wanted, err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- new [a](docs/a.md#b), [c](https://c.example)\n\n" +
		"## [0.1.0] - 2026-01-01\n\n- first\n\n[0.1.0]: https://example.com\n"
	for _, test := range []struct{ name, version, want string }{
		{"a version has its section", "v0.1.0", "- first\n\n[0.1.0]: https://example.com\n"},
		{
			"another one has what is unreleased, with links that lead into the repository", "v0.2.0",
			"### Added\n\n- new [a](https://example.com/source/blob/" + commit + "/docs/a.md#b), [c](https://c.example)\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBuild(t)
			b.version = test.version
			write(t, filepath.Join(b.tree, "CHANGELOG.md"), changelog)
			if err := b.notes(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := read(t, filepath.Join(b.files, "release-notes.md")); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := cutNotes("# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n", "0.1.0"); err == nil {
		t.Error("a changelog without a word is accepted")
	}
}

func TestVersionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "0.1.0", "v0.1", "v01.0.0", "v0.1.0+build", "v0.1.0-01", "v0.1.0 ", "v0.1.0/../x"} {
		if err := release(t.Context(), options{version: version}); err == nil || !strings.Contains(err.Error(), "not a semantic version") {
			t.Errorf("%q: %v", version, err)
		}
	}
	for _, version := range []string{"v0.1.0", "v10.20.30", "v1.0.0-rc.1", "v1.0.0-0a.b-c"} {
		if !semver.MatchString(version) {
			t.Errorf("%q is refused", version)
		}
	}
}

func TestCheckoutsWithChangesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(argv ...string) {
		env := []string{"GIT_COMMITTER_DATE=1700000000 +0100"}
		argv = append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@example.com"}, argv...)
		if _, err := run(t.Context(), dir, env, argv...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "--message=first")
	from, err := readSource(t.Context(), dir)
	if err != nil || len(from.commit) != 40 || from.time.Format(time.RFC3339) != "2023-11-14T22:13:20Z" {
		t.Errorf("got %+v, %v", from, err)
	}
	write(t, filepath.Join(dir, "new"), "")
	if _, err := readSource(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "?? new") {
		t.Errorf("with a new file: %v", err)
	}
}
