package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// clusterName tells the clusters of a machine apart: each has its own network namespace, cgroups and directories, and may have another
// family. The variable has to be set for every command that is about such a cluster.
var clusterName = firstOf(os.Getenv("GATEWRIGHT_CLUSTER"), "gatewright")

// runDir holds sockets and containerd's mounts. It cannot be chosen because the path of a Unix socket must stay below 108 bytes.
var runDir = "/run/" + clusterName

// maxStateLength keeps the kubelet's own sockets below the limit for Unix socket paths.
const maxStateLength = 70

// layout says where things are.
type layout struct {
	root  string // the checkout
	cache string // what was built; can be deleted at any time while the cluster is down
	state string // everything the running cluster writes; deleted by down
	// family is that of the cluster whose state there is.
	family family
}

// clusterNames are those that are safe as a part of paths that are deleted, and of names of network namespaces.
var clusterNames = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// checkClusterName finds a name that cannot be used. Others keep their network namespaces in /run/netns.
func checkClusterName(name string) error {
	if !clusterNames.MatchString(name) || name == "netns" {
		return fmt.Errorf(
			"GATEWRIGHT_CLUSTER is %q: use up to 31 lower-case letters, digits and hyphens, with a letter first, and not netns", name,
		)
	}
	return nil
}

func findLayout() (layout, error) {
	if err := checkClusterName(clusterName); err != nil {
		return layout{}, err
	}
	if _, err := parseSite(os.Getenv("GATEWRIGHT_SITE")); err != nil {
		return layout{}, err
	}
	root, err := findRoot()
	if err != nil {
		return layout{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return layout{}, fmt.Errorf("find the home directory (set HOME): %w", err)
	}
	cache := firstOf(os.Getenv("GATEWRIGHT_CACHE"),
		filepath.Join(firstOf(os.Getenv("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "gatewright"))
	state := firstOf(os.Getenv("GATEWRIGHT_STATE"),
		filepath.Join(firstOf(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")), clusterName))
	l := layout{root: root, cache: cache, state: filepath.Join(state, "cluster")}
	if !filepath.IsAbs(l.cache) || !filepath.IsAbs(l.state) {
		return layout{}, fmt.Errorf("cache %q and state %q must be absolute paths", l.cache, l.state)
	}
	if len(l.state) > maxStateLength {
		return layout{}, fmt.Errorf("state directory %s is too long for Unix sockets: set GATEWRIGHT_STATE to a path of at most %d characters",
			l.state, maxStateLength-len("/cluster"))
	}
	l.family = l.readFamily()
	return l, nil
}

// findRoot walks up from the working directory to the checkout.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "test", "cluster", "build", "kubernetes", "go.mod")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not inside a Gatewright checkout: change into one", dir)
		}
	}
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func (l layout) path(elem ...string) string {
	return filepath.Join(append([]string{l.state}, elem...)...)
}

func (l layout) logFile(daemon string) string { return l.path("logs", daemon+".log") }

func (l layout) kubeconfig(user string) string { return l.path("kubeconfig", user+".yaml") }

func (l layout) adminKubeconfig() string { return l.kubeconfig("admin") }

func containerdSocket() string { return filepath.Join(runDir, "containerd.sock") }

// writeFile writes a file of the state together with its directory. A reader finds the old content or the new one, even if this
// process is killed.
func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the directory of %s: %w", path, err)
	}
	temporary := path + ".writing"
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	return nil
}
