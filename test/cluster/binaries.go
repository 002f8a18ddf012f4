package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// goToolchain is the Go that every binary is built with, whatever the machine has.
const goToolchain = "GOTOOLCHAIN=go1.27.3"

// source is a module under build/ whose go.mod pins what is built from it.
type source struct {
	name     string            // directory under build/ and in the cache
	module   string            // the module whose version names the cache directory
	packages map[string]string // binary name → import path
	stamps   []string          // string variables set when linking, %s is the version
}

var (
	kube = source{
		name:   "kubernetes",
		module: "k8s.io/kubernetes",
		packages: map[string]string{
			"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
			"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
			"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
			"kube-proxy":              "k8s.io/kubernetes/cmd/kube-proxy",
			"kubelet":                 "k8s.io/kubernetes/cmd/kubelet",
			"kubectl":                 "k8s.io/kubernetes/cmd/kubectl",
		},
		stamps: []string{
			"k8s.io/component-base/version.gitVersion=%s",
			"k8s.io/component-base/version.gitMajor=1",
			"k8s.io/component-base/version.gitMinor=36",
		},
	}
	etcd = source{
		name:     "etcd",
		module:   "go.etcd.io/etcd/server/v3",
		packages: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
	}
	coreDNS = source{
		name:     "coredns",
		module:   "github.com/coredns/coredns",
		packages: map[string]string{"coredns": "."},
	}
	helm = source{
		name:     "helm",
		module:   "helm.sh/helm/v4",
		packages: map[string]string{"helm": "helm.sh/helm/v4/cmd/helm"},
	}
	echoBasic = source{
		name:     "echo-basic",
		module:   "sigs.k8s.io/gateway-api-conformance-images",
		packages: map[string]string{"echo-basic": "sigs.k8s.io/gateway-api-conformance-images/echo-basic"},
	}
	rateLimit = source{
		name:     "ratelimit",
		module:   "github.com/envoyproxy/ratelimit",
		packages: map[string]string{"ratelimit": "github.com/envoyproxy/ratelimit/src/service_cmd"},
	}
	lwepp = source{
		name:     "lwepp",
		module:   "sigs.k8s.io/gateway-api-inference-extension",
		packages: map[string]string{"lwepp": "."},
	}
)

// binariesCommand is for tests that need an API server and no cluster.
func binariesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "binaries",
		Short: "Build etcd, Kubernetes and Helm if they are missing, and print their directories as a PATH",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := findLayout()
			if err != nil {
				return err
			}
			var dirs []string
			for _, s := range []source{etcd, kube, helm} {
				dir, err := s.build(cmd.Context(), l)
				if err != nil {
					return err
				}
				dirs = append(dirs, dir)
			}
			fmt.Println(strings.Join(dirs, ":"))
			return nil
		},
	}
}

// build makes the binaries of a source unless the cache has them, and returns their directory.
// A binary gets its name only when all are complete, so an interrupted build leaves none. Commands for clusters of all names take them from
// there, and one at a time builds them.
func (s source) build(ctx context.Context, l layout) (string, error) {
	dir, err := s.dir(ctx, l)
	if err != nil {
		return "", err
	}
	return dir, l.cacheLock(s.name).hold(ctx, func() error { return s.ensure(ctx, l, dir) })
}

func (s source) ensure(ctx context.Context, l layout, dir string) error {
	inputs, err := s.inputs(l)
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "inputs")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == inputs && s.complete(dir) {
		return nil
	}
	version := strings.TrimPrefix(filepath.Base(dir), s.name+"-")
	err = step(ctx, "build "+s.name+" "+version, func(ctx context.Context) error {
		return s.compile(ctx, l, dir, version)
	})
	if err != nil {
		return err
	}
	return writeFile(stamp, inputs)
}

func (s source) compile(ctx context.Context, l layout, dir, version string) error {
	if err := downloadModules(ctx, s.moduleDir(l)); err != nil {
		return err
	}
	temporary, err := newBuildDir(dir)
	if err != nil {
		return err
	}
	ldflags := "-s -w"
	for _, stamp := range s.stamps {
		ldflags += " -X " + strings.ReplaceAll(stamp, "%s", version)
	}
	argv := []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags}
	if len(s.packages) == 1 {
		for name, pkg := range s.packages {
			argv = append(argv, "-o", filepath.Join(temporary, name), pkg)
		}
	} else {
		argv = append(argv, "-o", temporary+"/")
		for _, pkg := range s.packages {
			argv = append(argv, pkg)
		}
	}
	_, err = invocation{
		dir:  s.moduleDir(l),
		env:  []string{goToolchain, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly"},
		argv: argv,
	}.run(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the old build: %w", err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("keep the build: %w", err)
	}
	return nil
}

// newBuildDir makes an empty directory that becomes dir when it is complete, and removes those of builds that did not get that far. Each
// has a name of its own, because a build may go on when the command that started it was killed.
func newBuildDir(dir string) (string, error) {
	old, err := filepath.Glob(dir + ".building*")
	if err != nil {
		return "", fmt.Errorf("list old builds: %w", err)
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return "", fmt.Errorf("remove an old build: %w", err)
		}
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".building-*")
	if err == nil {
		err = os.Chmod(temporary, 0o755) // as for other directories, not for one user alone
	}
	if err != nil {
		return "", fmt.Errorf("make a directory to build in: %w", err)
	}
	return temporary, nil
}

func (s source) moduleDir(l layout) string {
	return filepath.Join(l.root, "test", "cluster", "build", s.name)
}

// dir is the cache directory for the version that go.mod pins.
func (s source) dir(ctx context.Context, l layout) (string, error) {
	out, err := invocation{dir: s.moduleDir(l), env: []string{goToolchain}, argv: []string{"go", "mod", "edit", "-json"}}.run(ctx)
	if err != nil {
		return "", err
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return "", fmt.Errorf("read %s/go.mod: %w", s.moduleDir(l), err)
	}
	for _, r := range mod.Require {
		if r.Path == s.module {
			return filepath.Join(l.cache, s.name+"-"+r.Version), nil
		}
	}
	return "", fmt.Errorf("%s/go.mod does not require %s", s.moduleDir(l), s.module)
}

// inputs identifies everything that decides what is built.
func (s source) inputs(l layout) (string, error) {
	files, err := filepath.Glob(filepath.Join(s.moduleDir(l), "*"))
	if err != nil {
		return "", fmt.Errorf("list the files of %s: %w", s.name, err)
	}
	described := fmt.Sprintln(goToolchain, s.packages, s.stamps)
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read the sources of %s: %w", s.name, err)
		}
		described += fmt.Sprintf("%s %x\n", filepath.Base(name), sha256.Sum256(content))
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(described))), nil
}

func (s source) complete(dir string) bool {
	for name := range s.packages {
		if !exists(filepath.Join(dir, name)) {
			return false
		}
	}
	return true
}

// requireGo explains early what the first build would fail with.
func requireGo() error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("go is not on PATH: install Go 1.21 or later, which fetches the right version itself: %w", err)
	}
	return nil
}
