package ociimage

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is an entry of an image's file system; its content comes from the host or from here. The path of a directory ends in a slash.
type File struct {
	Path    string
	From    string
	Content string
	Mode    int64
}

// Authorities is where programs find the public certificate authorities.
const Authorities = "/etc/ssl/certs/ca-certificates.crt"

// base is what every image has, as in the distroless base: a user that is not root, and a place for temporary files.
var base = []File{
	{
		Path: "/etc/passwd", Mode: 0o644,
		Content: "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
	},
	{Path: "/etc/group", Mode: 0o644, Content: "root:x:0:\nnonroot:x:65532:\n"},
	{Path: "/etc/nsswitch.conf", Mode: 0o644, Content: "hosts: files dns\n"},
	{Path: "/tmp/", Mode: 0o1777},
}

// Tar packs files so that equal content gives equal bytes: sorted, without times and owners.
func Tar(to io.Writer, files []File) error {
	w := tar.NewWriter(to)
	for _, f := range withParents(files) {
		if err := f.pack(w); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}

func (f File) pack(w *tar.Writer) error {
	header := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	content := []byte(f.Content)
	switch {
	case strings.HasSuffix(f.Path, "/"):
		header.Typeflag = tar.TypeDir
	case f.From != "":
		var err error
		if content, err = os.ReadFile(f.From); err != nil {
			return fmt.Errorf("read %s for the image: %w", f.From, err)
		}
	}
	header.Size = int64(len(content))
	err := w.WriteHeader(header)
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", f.Path, err)
	}
	return nil
}

// withParents adds the directories above each file and sorts everything, so that they come first.
func withParents(files []File) []File {
	all := map[string]File{}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.Path, "/")); dir != "/"; dir = path.Dir(dir) {
			if _, found := all[dir+"/"]; !found {
				all[dir+"/"] = File{Path: dir + "/", Mode: 0o755}
			}
		}
		all[f.Path] = f
	}
	sorted := make([]File, 0, len(all))
	for _, f := range all {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return sorted
}

// Archive packs a directory tree of plain files into one tar file.
func Archive(dir, to string) (err error) {
	var files []File
	walk := func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, File{Path: strings.TrimPrefix(name, dir), From: name, Mode: 0o644})
		}
		return err
	}
	if err := filepath.WalkDir(dir, walk); err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	out, err := os.Create(to)
	if err != nil {
		return fmt.Errorf("create %s: %w", to, err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return Tar(out, files)
}
