package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

const (
	// Devel is the version of a program that was built neither by a release nor from a commit that Go knows.
	Devel = "devel"
	// Unknown is the revision of a program that was built without its repository, or without asking it (-buildvcs=false).
	Unknown = "unknown"
)

// version and commit are written by the linker, see the package's comment.
var version, commit string

// Info is what a program knows about how it was built.
type Info struct {
	// Version is that of the release, with a v; between releases, what Go derives from the commit; or [Devel].
	Version string
	// Revision is the commit, with -dirty if files were changed since; or [Unknown].
	Revision string
	// Go is the version of the compiler.
	Go string
}

// Current is what this program knows about itself.
func Current() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return describe(version, commit, build)
}

func describe(linked, commit string, build *debug.BuildInfo) Info {
	module := build.Main.Version
	if module == "(devel)" {
		module = Devel
	}
	return Info{
		Version:  cmp.Or(linked, module, Devel),
		Revision: cmp.Or(commit, revision(build.Settings)),
		Go:       cmp.Or(build.GoVersion, runtime.Version()),
	}
}

func revision(settings []debug.BuildSetting) string {
	commit, suffix := Unknown, ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	return commit + suffix
}

// UserAgent is how a component of the control plane names itself to an API server. It begins with the program's name and a slash, because
// API servers take what is before the slash for the manager of fields that a request writes without naming one.
func (i Info) UserAgent(component string) string {
	return fmt.Sprintf("gatewright/%s (%s/%s) %s/%s", i.Version, runtime.GOOS, runtime.GOARCH, i.Revision, component)
}

// A Target is something that a program is made for.
type Target struct {
	Name, Version string
}

// Text is what a program prints about its version, and what it is made for. It is YAML, too.
func (i Info) Text(targets ...Target) string {
	var b strings.Builder
	for _, line := range append([]Target{{"version", i.Version}, {"revision", i.Revision}, {"go", i.Go}}, targets...) {
		fmt.Fprintf(&b, "%-11s %s\n", line.Name+":", line.Version)
	}
	return b.String()
}
