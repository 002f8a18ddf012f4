package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// file is an entry of an image's file system; its content comes from the host or from here.
type file struct {
	path    string
	from    string
	content string
	mode    int64
}

// baseFiles is what every image has, as in the distroless base: a user that is not root, the
// public certificate authorities and a place for temporary files.
var baseFiles = []file{
	{
		path: "/etc/passwd", mode: 0o644,
		content: "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
	},
	{path: "/etc/group", mode: 0o644, content: "root:x:0:\nnonroot:x:65532:\n"},
	{path: "/etc/nsswitch.conf", mode: 0o644, content: "hosts: files dns\n"},
	{path: "/etc/ssl/certs/ca-certificates.crt", mode: 0o644, from: caBundle},
	{path: "/tmp/", mode: 0o1777},
}

// newLayer packs files so that equal content gives equal bytes: sorted, without times and owners,
// uncompressed because it never travels.
func newLayer(files []file) (v1.Layer, error) {
	files = withParents(files)
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range files {
		if err := f.pack(w); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("end the layer: %w", err)
	}
	return static.NewLayer(buffer.Bytes(), types.OCIUncompressedLayer), nil
}

func (f file) pack(w *tar.Writer) error {
	header := &tar.Header{Name: strings.TrimPrefix(f.path, "/"), Mode: f.mode, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	content := []byte(f.content)
	switch {
	case strings.HasSuffix(f.path, "/"):
		header.Typeflag = tar.TypeDir
	case f.from != "":
		var err error
		if content, err = os.ReadFile(f.from); err != nil {
			return fmt.Errorf("read %s for the image: %w", f.from, err)
		}
	}
	header.Size = int64(len(content))
	err := w.WriteHeader(header)
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", f.path, err)
	}
	return nil
}

// withParents adds the directories above each file and sorts everything, so that they come first.
func withParents(files []file) []file {
	all := map[string]file{}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.path, "/")); dir != "/"; dir = path.Dir(dir) {
			if _, found := all[dir+"/"]; !found {
				all[dir+"/"] = file{path: dir + "/", mode: 0o755}
			}
		}
		all[f.path] = f
	}
	sorted := make([]file, 0, len(all))
	for _, f := range all {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return sorted
}

// archive packs a directory tree of plain files into one tar file.
func archive(dir, to string) (err error) {
	out, err := os.Create(to)
	if err != nil {
		return fmt.Errorf("create %s: %w", to, err)
	}
	w := tar.NewWriter(out)
	defer func() { err = errors.Join(err, w.Close(), out.Close()) }()
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	return nil
}
