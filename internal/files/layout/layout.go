package layout

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// Directory is where a proxy mounts its files. All are in one volume, so that a kubelet replaces them together.
const Directory = "/etc/gatewright"

// The files that every proxy has. The others are those of one [Kind].
const (
	Listeners = "listeners.pb"
	Clusters  = "clusters.pb"
	// Loaded is the route table of the ready listener. It answers [LoadedPath] with the ID of the files, so that a reader sees which
	// files a proxy has loaded.
	Loaded = "loaded.pb"
)

// LoadedPath is where a proxy returns the ID of the files that it has loaded, on the port of the ready listener.
const LoadedPath = "/loaded"

// LoadedTable is the name of the route table in [Loaded].
const LoadedTable = "loaded"

// Kind is the kind of resource that a file holds, one resource each.
type Kind string

// The kinds of files.
const (
	RouteTables Kind = "routes"
	Endpoints   Kind = "endpoints"
	Secrets     Kind = "secrets"
)

// shards is the number of objects that the files of a kind are spread over. It is part of every pod's volume: another number rolls all
// fleets.
var shards = map[Kind]uint32{RouteTables: 8, Endpoints: 8, Secrets: 4}

// maxSlug is how much of a resource's name its file name contains, for readers.
const maxSlug = 100

// FileName is the name of the file of one resource.
func FileName(kind Kind, resource string) string {
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

// Object is an object that holds files of a fleet in its binary data.
type Object struct {
	Name string
	// Secret is true for a Secret, false for a ConfigMap.
	Secret bool
}

// ObjectOf is the object that holds a file of a fleet.
func ObjectOf(fleet, file string) Object {
	kind, _, _ := strings.Cut(file, ".")
	if n := shards[Kind(kind)]; n > 0 {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(file))
		return shard(fleet, Kind(kind), hash.Sum32()%n)
	}
	return Object{Name: fleet + "-" + kind}
}

func shard(fleet string, kind Kind, n uint32) Object {
	return Object{Name: fmt.Sprintf("%s-%s-%d", fleet, kind, n), Secret: kind == Secrets}
}

// Required are the objects without which a proxy cannot start.
func Required(fleet string) []Object {
	var all []Object
	for _, file := range []string{Clusters, Listeners, Loaded} {
		all = append(all, ObjectOf(fleet, file))
	}
	return all
}

// Optional are the objects that hold the files of a [Kind]. They exist if a resource needs them.
func Optional(fleet string) []Object {
	var all []Object
	for _, kind := range []Kind{RouteTables, Endpoints, Secrets} {
		for n := range shards[kind] {
			all = append(all, shard(fleet, kind, n))
		}
	}
	return all
}

// Objects are all that may hold files of a fleet: the required ones first.
func Objects(fleet string) []Object { return append(Required(fleet), Optional(fleet)...) }
