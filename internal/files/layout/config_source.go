package layout

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// kubeletLink is the link in a volume that a kubelet renames to replace all files at once. The links of single files lead through it,
// but those of new files appear later.
const kubeletLink = "..data"

// ConfigSource reads a resource, or all of a type, from a file. A kubelet replaces files by renaming a link in their directory, so Envoy
// watches the directory. The bytes must never change, for the reason given at `wire.ADS`.
func ConfigSource(directory, file string) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:  corev3.ApiVersion_V3,
		InitialFetchTimeout: durationpb.New(0),
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{
			Path: Path(directory, file), WatchedDirectory: &corev3.WatchedDirectory{Path: directory},
		}},
	}
}

// Path is where a proxy finds a file.
func Path(directory, file string) string { return directory + "/" + kubeletLink + "/" + file }
