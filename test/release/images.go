package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/gatewright/gatewright/test/ociimage"
)

// imagePrograms are the programs of each image; the first one runs.
var imagePrograms = map[string][]string{
	"gatewright":       {"gatewright", "gatewright-drain"},
	"gatewright-drain": {"gatewright-drain"},
}

// images writes an archive of an image layout for each image.
func (b *build) images(context.Context) error {
	b.named = map[string]string{}
	for name := range imagePrograms {
		index, err := b.index(name)
		if err != nil {
			return err
		}
		digest, err := index.Digest()
		if err != nil {
			return fmt.Errorf("digest of image %s: %w", name, err)
		}
		b.named[b.registry+"/"+name] = digest.String()
		dir := filepath.Join(b.work, "layout-"+name)
		written, err := layout.Write(dir, empty.Index)
		if err != nil {
			return fmt.Errorf("start the layout of %s: %w", name, err)
		}
		if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{
			"io.containerd.image.name":          b.registry + "/" + name + ":" + b.version,
			"org.opencontainers.image.ref.name": b.version,
		})); err != nil {
			return fmt.Errorf("write the layout of %s: %w", name, err)
		}
		if err := ociimage.Archive(dir, filepath.Join(b.files, fmt.Sprintf("%s-%s-oci.tar", name, b.version))); err != nil {
			return err
		}
	}
	return nil
}

// index is an image for all architectures.
func (b *build) index(name string) (v1.ImageIndex, error) {
	labels := map[string]string{
		"org.opencontainers.image.created":  b.time.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.revision": b.commit,
		"org.opencontainers.image.source":   b.repository,
		"org.opencontainers.image.title":    name,
		"org.opencontainers.image.version":  b.version,
	}
	var images []mutate.IndexAddendum
	for _, architecture := range architectures {
		var files []ociimage.File
		for _, program := range imagePrograms[name] {
			files = append(files, ociimage.File{Path: "/" + program, From: b.program(program, architecture), Mode: 0o755})
		}
		image, err := ociimage.Image{
			Architecture: architecture,
			Entrypoint:   files[0].Path,
			Files:        files,
			Authorities:  ociimage.File{Content: authorities()},
			Compressed:   true,
			Created:      b.time,
			Labels:       labels,
		}.Build()
		if err != nil {
			return nil, fmt.Errorf("make image %s: %w", name, err)
		}
		platform := v1.Platform{OS: "linux", Architecture: architecture}
		images = append(images, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), images...)
	annotated, ok := mutate.Annotations(index, labels).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotate the index of %s: it is no index any more", name)
	}
	return annotated, nil
}

// authorities are those of Mozilla, of the module that go.mod pins. One that Mozilla restricts is left out: a file cannot say how.
func authorities() string {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.String()
}
