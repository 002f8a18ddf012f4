package version

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	built := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.99", Main: debug.Module{Version: module}, Settings: settings}
	}
	clean := debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	at := debug.BuildSetting{Key: "vcs.revision", Value: commit}
	for _, test := range []struct {
		name   string
		linked string
		commit string
		build  *debug.BuildInfo
		want   Info
	}{
		{"a release has the version of its linker", "v0.1.0", "", built("v0.0.0-2026", at, clean), Info{"v0.1.0", commit, "go1.99"}},
		{"a release without its repository has no revision", "v0.1.0", "", built("(devel)"), Info{"v0.1.0", "unknown", "go1.99"}},
		{"a release has the commit of its linker", "v0.1.0", commit, built("(devel)"), Info{"v0.1.0", commit, "go1.99"}},
		{"a checkout has what Go derives from the commit", "", "", built("v0.0.0-2026", at, clean), Info{"v0.0.0-2026", commit, "go1.99"}},
		{"changed files make it dirty", "", "", built("v0.0.0-2026+dirty", at, dirty), Info{"v0.0.0-2026+dirty", commit + "-dirty", "go1.99"}},
		{"a build that asks no repository is devel", "", "", built("(devel)"), Info{"devel", "unknown", "go1.99"}},
		{"a program without build information is devel", "", "", &debug.BuildInfo{}, Info{"devel", "unknown", runtime.Version()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := describe(test.linked, test.commit, test.build); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestUserAgentHasProgramVersionPlatformRevisionAndComponent(t *testing.T) {
	t.Parallel()
	want := "gatewright/v0.1.0 (" + runtime.GOOS + "/" + runtime.GOARCH + ") 0123/controller"
	if got := (Info{Version: "v0.1.0", Revision: "0123"}).UserAgent("controller"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextIsYAML(t *testing.T) {
	t.Parallel()
	text := Info{"v0.1.0", "0123", "go1.99"}.Text(Target{"envoy", "v1.2.3"}, Target{"gatewayAPI", "v4.5.6"})
	const want = "version:    v0.1.0\nrevision:   0123\ngo:         go1.99\nenvoy:      v1.2.3\ngatewayAPI: v4.5.6\n"
	if text != want {
		t.Errorf("got:\n%swant:\n%s", text, want)
	}
	var parsed map[string]string
	if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil || parsed["gatewayAPI"] != "v4.5.6" {
		t.Errorf("read as YAML: %v, %v", parsed, err)
	}
}

// TestTheLinkerSetsTheVersion builds the smallest program that has one, as a release does.
func TestTheLinkerSetsTheVersion(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, //nolint:gosec // a file of this test
		"-ldflags=-X github.com/gatewright/gatewright/internal/version.version=v1.2.3", "../../cmd/gatewright-drain")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // compiled like everything else, so mostly compiled already
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, said)
	}
	text, err := exec.CommandContext(t.Context(), program, "version").Output() //nolint:gosec // it was built here
	if err != nil || !strings.HasPrefix(string(text), "version:    v1.2.3\nrevision:   unknown\ngo:         go1.") {
		t.Errorf("printed %q, %v", text, err)
	}
}
