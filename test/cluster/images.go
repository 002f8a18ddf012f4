package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/spf13/cobra"

	"github.com/gatewright/gatewright/test/ociimage"
)

const (
	gatewrightRepository = "ghcr.io/gatewright/gatewright"
	gatewrightTag        = "dev"
	pauseImage           = "localhost/gatewright/pause:dev"
	echoRepository       = "registry.k8s.io/gateway-api/conformance/echo-basic"
	redisImage           = "localhost/gatewright/redis:dev"
	// rateLimitImage is the chart's default, of the version that build/ratelimit pins.
	rateLimitImage = "docker.io/envoyproxy/ratelimit:3fb70258"
	// What the manifests of the inference suite name.
	inferenceEchoImage = "gcr.io/k8s-staging-gateway-api/echo-basic:v20251106-v1.3.0-263-g47c3435c"
	lweppImage         = "registry.k8s.io/gateway-api-inference-extension/lwepp:v1.6.0"
)

// image is what to make and the names under which containerd shall know it.
type image struct {
	names      []string
	entrypoint string
	arguments  []string
	files      []ociimage.File
}

func imagesCommand() *cobra.Command {
	return withCluster("images", "Build the images and load those that changed into the cluster", func(ctx context.Context, l layout) error {
		if err := requireRunning(l); err != nil {
			return err
		}
		if err := loadBaseImages(ctx, l); err != nil {
			return err
		}
		return loadGatewright(ctx, l)
	})
}

// loadBaseImages loads the images that do not depend on Gatewright's source.
func loadBaseImages(ctx context.Context, l layout) error {
	pause, err := buildHere(ctx, l, filepath.Join(l.root, "test"), "./cluster/pause", "pause")
	if err != nil {
		return err
	}
	envoy, err := fetchEnvoy(ctx, l)
	if err != nil {
		return err
	}
	libraries, err := sharedLibraries(ctx, envoy)
	if err != nil {
		return err
	}
	echo, err := echoBasic.build(ctx, l)
	if err != nil {
		return err
	}
	images, err := rateLimitImages(ctx, l)
	if err != nil {
		return err
	}
	images = append(images, []image{
		{
			names:      []string{pauseImage},
			entrypoint: "/pause",
			files:      []ociimage.File{{Path: "/pause", From: pause, Mode: 0o755}},
		},
		{
			names:      []string{"docker.io/envoyproxy/envoy:distroless-v" + envoyVersion},
			entrypoint: "/usr/local/bin/envoy",
			arguments:  []string{"-c", "/etc/envoy/envoy.yaml"},
			files:      append(libraries, ociimage.File{Path: "/usr/local/bin/envoy", From: envoy, Mode: 0o755}),
		},
		{
			// The conformance manifests name both versions; the source of the second is not public,
			// and the first answers the tests of both.
			names:      []string{echoRepository + ":v0.1.0", echoRepository + ":v0.2.0", inferenceEchoImage},
			entrypoint: "/echo-basic",
			files:      []ociimage.File{{Path: "/echo-basic", From: filepath.Join(echo, "echo-basic"), Mode: 0o755}},
		},
	}...)
	for _, i := range images {
		if err := i.load(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// rateLimitImages are the rate limit service, and Debian's Redis for it.
func rateLimitImages(ctx context.Context, l layout) ([]image, error) {
	service, err := rateLimit.build(ctx, l)
	if err != nil {
		return nil, err
	}
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("find Redis: %w", err)
	}
	libraries, err := sharedLibraries(ctx, redis)
	if err != nil {
		return nil, err
	}
	return []image{
		{
			names:      []string{rateLimitImage},
			entrypoint: "/bin/ratelimit",
			files:      []ociimage.File{{Path: "/bin/ratelimit", From: filepath.Join(service, "ratelimit"), Mode: 0o755}},
		},
		{
			names:      []string{redisImage},
			entrypoint: "/bin/redis-server",
			arguments:  []string{"--save", "", "--protected-mode", "no", "--dir", "/tmp"},
			files:      append(libraries, ociimage.File{Path: "/bin/redis-server", From: redis, Mode: 0o755}),
		},
	}, nil
}

// loadLwepp loads the endpoint picker of the inference suite.
func loadLwepp(ctx context.Context, l layout) error {
	dir, err := lwepp.build(ctx, l)
	if err != nil {
		return err
	}
	return image{
		names:      []string{lweppImage},
		entrypoint: "/lwepp",
		files:      []ociimage.File{{Path: "/lwepp", From: filepath.Join(dir, "lwepp"), Mode: 0o755}},
	}.load(ctx, l)
}

// loadGatewright builds the controller and the program that proxies take from its image, and loads both.
func loadGatewright(ctx context.Context, l layout) error {
	if !exists(filepath.Join(l.root, "cmd", "gatewright")) {
		fmt.Println("          image gatewright: skipped, there is no cmd/gatewright in this checkout")
		return nil
	}
	binary, err := buildHere(ctx, l, l.root, "./cmd/gatewright", "gatewright")
	if err != nil {
		return err
	}
	drain, err := buildHere(ctx, l, l.root, "./cmd/gatewright-drain", "gatewright-drain")
	if err != nil {
		return err
	}
	return image{
		names:      []string{gatewrightRepository + ":" + gatewrightTag},
		entrypoint: "/gatewright",
		files: []ociimage.File{
			{Path: "/gatewright", From: binary, Mode: 0o755},
			{Path: "/gatewright-drain", From: drain, Mode: 0o755},
		},
	}.load(ctx, l)
}

// buildHere builds a command of the checkout; Go's own cache makes it quick when nothing changed. The binary is in the state, because each
// cluster may be that of another checkout.
func buildHere(ctx context.Context, l layout, dir, pkg, name string) (string, error) {
	binary := l.path("checkout", name)
	return binary, step(ctx, "build "+name, func(ctx context.Context) error {
		if err := downloadModules(ctx, dir); err != nil {
			return err
		}
		_, err := invocation{
			dir:  dir,
			env:  []string{goToolchain, "CGO_ENABLED=0"},
			argv: []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", binary, pkg},
		}.run(ctx)
		return err
	})
}

// sharedLibraries lists what ldd finds for a binary, the loader included.
func sharedLibraries(ctx context.Context, binary string) ([]ociimage.File, error) {
	out, err := run(ctx, "ldd", binary)
	if err != nil {
		return nil, err
	}
	var files []ociimage.File
	for _, field := range strings.Fields(out) {
		if strings.HasPrefix(field, "/") {
			files = append(files, ociimage.File{Path: field, From: field, Mode: 0o755})
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("ldd names no library of %s: %s", binary, out)
	}
	return files, nil
}

// load imports the image under each name that containerd does not have with this very content.
func (i image) load(ctx context.Context, l layout) error {
	built, err := i.build()
	if err != nil {
		return fmt.Errorf("make image %s: %w", i.names[0], err)
	}
	digest, err := built.Digest()
	if err != nil {
		return fmt.Errorf("digest of image %s: %w", i.names[0], err)
	}
	loaded, err := loadedImages(ctx)
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range i.names {
		if loaded[name] != digest.String() {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return step(ctx, "load image "+strings.Join(missing, ", "), func(ctx context.Context) error {
		return importImage(ctx, l, built, missing)
	})
}

func (i image) build() (v1.Image, error) {
	return ociimage.Image{
		Architecture: runtime.GOARCH,
		Entrypoint:   i.entrypoint,
		Arguments:    i.arguments,
		Files:        i.files,
		Authorities:  ociimage.File{From: caBundle},
	}.Build()
}

// importImage hands containerd an OCI archive, which keeps the digest that we compare with.
func importImage(ctx context.Context, l layout, img v1.Image, names []string) (err error) {
	dir, err := os.MkdirTemp(l.state, "image-*")
	if err != nil {
		return fmt.Errorf("make a directory for the archive: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	written, err := ocilayout.Write(filepath.Join(dir, "oci"), empty.Index)
	if err != nil {
		return fmt.Errorf("start the archive: %w", err)
	}
	for _, name := range names {
		annotation := ocilayout.WithAnnotations(map[string]string{"io.containerd.image.name": name})
		if err := written.AppendImage(img, annotation); err != nil {
			return fmt.Errorf("add %s to the archive: %w", name, err)
		}
	}
	tarball := filepath.Join(dir, "image.tar")
	if err := ociimage.Archive(filepath.Join(dir, "oci"), tarball); err != nil {
		return err
	}
	_, err = run(ctx, ctr("images", "import", tarball)...)
	return err
}

// loadedImages maps the names that containerd knows to their digests.
func loadedImages(ctx context.Context) (map[string]string, error) {
	out, err := run(ctx, ctr("images", "list")...)
	if err != nil {
		return nil, err
	}
	loaded := map[string]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 2 {
			loaded[fields[0]] = fields[2]
		}
	}
	return loaded, nil
}

func ctr(argv ...string) []string {
	return append([]string{"ctr", "--address", containerdSocket(), "--namespace", "k8s.io"}, argv...)
}
