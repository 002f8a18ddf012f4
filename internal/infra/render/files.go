package render

import (
	"fmt"
	"hash/fnv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// FilesDirectory is where a proxy that is supplied by files finds them: all are in one volume, so that a kubelet replaces them together.
const FilesDirectory = "/etc/gatewright"

// The files that every proxy supplied by files has. The others are those of one [FileKind].
const (
	ListenersFile = "listeners.pb"
	ClustersFile  = "clusters.pb"
	// LoadedFile is the route table of the port that answers [ReadyPath]. It answers [LoadedPath] with what the file was written for, so that it can be seen which
	// files a proxy has read.
	LoadedFile = "loaded.pb"
)

// LoadedPath is where a proxy supplied by files says which files it has read, on [ReadyPort].
const LoadedPath = "/loaded"

// LoadedTable is the name of the route table in [LoadedFile].
const LoadedTable = "loaded"

// FileKind is what files of one resource each hold.
type FileKind string

// The kinds of files.
const (
	RouteTableFiles FileKind = "routes"
	EndpointFiles   FileKind = "endpoints"
	SecretFiles     FileKind = "secrets"
)

// shards is how many objects the files of a kind are spread over. It is part of every pod's volume, so another number rolls all fleets.
var shards = map[FileKind]uint32{RouteTableFiles: 8, EndpointFiles: 8, SecretFiles: 4}

// maxSlug is how much of a resource's name is in that of its file, for people.
const maxSlug = 100

// FileName is the file of one resource.
func FileName(kind FileKind, resource string) string {
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, resource)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(resource))
	return fmt.Sprintf("%s.%s.%016x.pb", kind, slug[:min(len(slug), maxSlug)], hash.Sum64())
}

// FileObject is an object that holds files of a fleet, all of them in its binary data.
type FileObject struct {
	Name string
	// Secret says that it is a Secret, not a ConfigMap.
	Secret bool
}

// FileObjectOf is the object that holds a file of a fleet.
func FileObjectOf(fleet, file string) FileObject {
	kind, _, _ := strings.Cut(file, ".")
	if n := shards[FileKind(kind)]; n > 0 {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(file))
		return shard(fleet, FileKind(kind), hash.Sum32()%n)
	}
	return FileObject{Name: fleet + "-" + kind}
}

func shard(fleet string, kind FileKind, n uint32) FileObject {
	return FileObject{Name: fmt.Sprintf("%s-%s-%d", fleet, kind, n), Secret: kind == SecretFiles}
}

// FileObjects are all that may hold files of a fleet.
func FileObjects(fleet string) []FileObject {
	var all []FileObject
	for _, file := range []string{ClustersFile, ListenersFile, LoadedFile} {
		all = append(all, FileObjectOf(fleet, file))
	}
	for _, kind := range []FileKind{RouteTableFiles, EndpointFiles, SecretFiles} {
		for n := range shards[kind] {
			all = append(all, shard(fleet, kind, n))
		}
	}
	return all
}

// FilesLabel is on the objects that hold files of a fleet, with [LabelValue] of its name.
const FilesLabel = "gatewright.dev/files-of"

// FilesMetadata is what the objects that hold files have in common with the fleet's other objects.
func FilesMetadata(gateway ir.Gateway) (map[string]string, []*applymetav1.OwnerReferenceApplyConfiguration) {
	all := labels(gateway)
	all[FilesLabel] = LabelValue(gateway.Fleet.Name)
	return all, owners(gateway)
}

// filesVolume has the same sources whatever files there are, so that no change rolls a pod. What every proxy needs must be there for one to start.
func filesVolume(gateway ir.Gateway) *applycorev1.VolumeApplyConfiguration {
	sources := applycorev1.ProjectedVolumeSource().WithDefaultMode(0o440)
	for i, object := range FileObjects(gateway.Fleet.Name) {
		optional := i >= len([]string{ClustersFile, ListenersFile, LoadedFile})
		if object.Secret {
			sources.WithSources(applycorev1.VolumeProjection().WithSecret(applycorev1.SecretProjection().WithName(object.Name).WithOptional(optional)))
		} else {
			sources.WithSources(applycorev1.VolumeProjection().WithConfigMap(applycorev1.ConfigMapProjection().WithName(object.Name).WithOptional(optional)))
		}
	}
	return applycorev1.Volume().WithName("files").WithProjected(sources)
}

// kubeletLink is the link in a volume that a kubelet renames to replace all files at once. Links to the single files lead through it, but those of new files come after.
const kubeletLink = "..data"

// FromFile says that a resource, or all of a type, is in a file. A kubelet replaces files by renaming a link in their directory, so it is the directory that is watched.
// Its bytes must stay as they are for good, for the reason that those of `wire.ADS` must.
func FromFile(directory, file string) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:  corev3.ApiVersion_V3,
		InitialFetchTimeout: durationpb.New(0),
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{
			Path: FilePath(directory, file), WatchedDirectory: &corev3.WatchedDirectory{Path: directory},
		}},
	}
}

// FilePath is where a proxy finds a file.
func FilePath(directory, file string) string { return directory + "/" + kubeletLink + "/" + file }

// loadedRoutes has the port that answers [ReadyPath] say which files the proxy has read.
func loadedRoutes() *hcmv3.HttpConnectionManager_Rds {
	return &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{ConfigSource: FromFile(FilesDirectory, LoadedFile), RouteConfigName: LoadedTable}}
}
