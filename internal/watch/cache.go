package watch

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// Scope is where objects are watched.
type Scope struct {
	// Namespaces are those that are watched, none for all.
	Namespaces []string
	// System is the namespace that Gatewright runs in. Its EndpointSlices are watched in any case.
	System string
	// Fleets chooses the objects of fleets, nil for those of every installation.
	Fleets labels.Selector
}

// CacheOptions makes a cache hold no more than is read: of Secrets the TLS ones, of Deployments and DaemonSets our own, and of any object
// not the fields that only its writer needs. An object it leaves out must be read without the cache.
func CacheOptions(scope Scope) cache.Options {
	options := cache.Options{
		DefaultTransform: trimming(nil),
		ByObject:         map[client.Object]cache.ByObject{},
		// Only a Watcher decides what is watched.
		ReaderFailOnMissingInformer: true,
	}
	if len(scope.Namespaces) > 0 {
		options.DefaultNamespaces = namespaces(scope.Namespaces...)
	}
	for _, d := range store.Kinds {
		if d.Cached() {
			options.ByObject[d.Object] = byObject(d, scope)
		}
	}
	return options
}

func byObject(d *store.Descriptor, scope Scope) cache.ByObject {
	by := cache.ByObject{Field: d.Fields}
	if d.Trim != nil {
		by.Transform = trimming(d.Trim)
	}
	if d.OnlyFleets {
		by.Label = store.OfFleets
		if scope.Fleets != nil {
			by.Label = scope.Fleets
		}
	}
	if d.InSystem && len(scope.Namespaces) > 0 {
		by.Namespaces = namespaces(append([]string{scope.System}, scope.Namespaces...)...)
	}
	return by
}

func namespaces(names ...string) map[string]cache.Config {
	configs := map[string]cache.Config{}
	for _, name := range names {
		configs[name] = cache.Config{}
	}
	return configs
}
