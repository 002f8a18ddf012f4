package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// packages maps what must be there to the Debian package that brings it.
var packages = []struct {
	pkg     string
	present func() bool
}{
	{"containerd", commands("containerd", "ctr", "containerd-shim-runc-v2")},
	{"runc", commands("runc")},
	{"containernetworking-plugins", func() bool { return pluginDir() != "" }},
	{"iptables", commands("iptables")},
	{"nftables", commands("nft")},
	{"iproute2", commands("ip")},
	{"conntrack", commands("conntrack")},
	{"socat", commands("socat")},
	{"util-linux", commands("nsenter")},
	{"ca-certificates", func() bool { return exists(caBundle) }},
	{"redis-server", commands("redis-server")},
	{"python3-pip", func() bool { return exec.Command("python3", "-m", "pip", "--version").Run() == nil }},
}

// caBundle is where Debian keeps the public certificate authorities.
const caBundle = "/etc/ssl/certs/ca-certificates.crt"

func installPackages(ctx context.Context) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("there is no apt-get here: install what these Debian packages bring by hand: %s", strings.Join(missing, " "))
	}
	lock := packagesLock()
	return lock.hold(ctx, func() error {
		if missing = missingPackages(); len(missing) == 0 {
			return lock.remove() // another cluster has installed them meanwhile
		}
		err := download(ctx, "apt-get", func(ctx context.Context) error { return aptInstall(ctx, missing) })
		if err != nil {
			return err
		}
		if missing = missingPackages(); len(missing) > 0 {
			return errors.New("still missing after apt-get install: " + strings.Join(missing, " "))
		}
		return lock.remove()
	})
}

// aptInstall installs packages as of now, and waits for another apt-get that runs.
func aptInstall(ctx context.Context, names []string) error {
	const wait = "DPkg::Lock::Timeout=300"
	if _, err := run(ctx, "apt-get", "update", "-qq", "-o", wait); err != nil {
		return err
	}
	_, err := invocation{
		env:  []string{"DEBIAN_FRONTEND=noninteractive"},
		argv: append([]string{"apt-get", "install", "-y", "-qq", "-o", wait, "--no-install-recommends"}, names...),
	}.run(ctx)
	return err
}

func missingPackages() []string {
	var missing []string
	for _, p := range packages {
		if !p.present() {
			missing = append(missing, p.pkg)
		}
	}
	return missing
}

func commands(names ...string) func() bool {
	return func() bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			_, err := exec.LookPath(name)
			return err != nil
		})
	}
}

// pluginDir is where the CNI plugins are: Debian's place, or the one upstream uses.
func pluginDir() string {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if exists(filepath.Join(dir, "ptp")) && exists(filepath.Join(dir, "host-local")) {
			return dir
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
