package ociimage

import (
	"bytes"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the number of nonroot, and of its group.
const user = "65532:65532"

// Image is what to make.
type Image struct {
	Architecture string
	Entrypoint   string
	Arguments    []string
	Files        []File
	// Authorities has the public certificate authorities.
	Authorities File
	// Compressed is for images that travel.
	Compressed bool
	Created    time.Time
	Labels     map[string]string
}

// Build makes the image: a layer that all images share, and one with the files.
func (i Image) Build() (v1.Image, error) {
	authorities := i.Authorities
	authorities.Path, authorities.Mode = Authorities, 0o644
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, files := range [][]File{append([]File{authorities}, base...), i.Files} {
		layer, err := i.layer(files)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, fmt.Errorf("append a layer: %w", err)
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", i.Architecture
	config.Created = v1.Time{Time: i.Created}
	config.Config.Entrypoint, config.Config.Cmd = []string{i.Entrypoint}, i.Arguments
	config.Config.User, config.Config.WorkingDir = user, "/"
	config.Config.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "SSL_CERT_FILE=" + Authorities}
	config.Config.Labels = i.Labels
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	return img, nil
}

func (i Image) layer(files []File) (v1.Layer, error) {
	var buffer bytes.Buffer
	if err := Tar(&buffer, files); err != nil {
		return nil, err
	}
	if !i.Compressed {
		return static.NewLayer(buffer.Bytes(), types.OCIUncompressedLayer), nil
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	return layer, nil
}
