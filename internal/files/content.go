package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/xds"
)

// content is what proxies have, or are to have, by files. It is never changed; all bytes are the same for the same resources.
type content struct {
	// clusters are those of the one file that has them all, by name.
	clusters map[string]*anypb.Any
	// files are all others except [layout.Loaded].
	files map[string][]byte
}

// contentOf lays out what the proxies of a Gateway are to have. They find the files in the directory.
func contentOf(directory string, s xds.Snapshot) (content, error) {
	c, err := withoutListeners(directory, s)
	if err != nil {
		return content{}, err
	}
	var listeners []*anypb.Any
	for _, r := range s.Listeners {
		listener, err := rewriteConfigSources(directory, r.GetResource())
		if err != nil {
			return content{}, fmt.Errorf("listener %s: %w", r.GetName(), err)
		}
		listeners = append(listeners, listener)
	}
	c.files[layout.Listeners] = respond(listeners...)
	return c, nil
}

// lastOf is the same for proxies that are to be replaced by such that are supplied in another way. Listeners may already look for their
// routes in that way, so the old ones stay.
func lastOf(directory string, s xds.Snapshot, have content) (content, error) {
	c, err := withoutListeners(directory, s)
	if err == nil {
		c.files[layout.Listeners] = have.files[layout.Listeners]
	}
	return c, err
}

func withoutListeners(directory string, s xds.Snapshot) (content, error) {
	c := content{clusters: map[string]*anypb.Any{}, files: map[string][]byte{}}
	for _, r := range s.Clusters {
		cluster, err := rewriteConfigSources(directory, r.GetResource())
		if err != nil {
			return content{}, fmt.Errorf("cluster %s: %w", r.GetName(), err)
		}
		c.clusters[r.GetName()] = cluster
	}
	for kind, resources := range map[layout.Kind][]*discoveryv3.Resource{
		layout.RouteTables: s.RouteTables, layout.Endpoints: s.Endpoints, layout.Secrets: s.Secrets,
	} {
		for _, r := range resources {
			c.files[layout.FileName(kind, r.GetName())] = respond(r.GetResource())
		}
	}
	return c, nil
}

// respond is what Envoy expects in a file: the answer that a server would have given.
func respond(resources ...*anypb.Any) []byte {
	hash := sha256.New()
	for _, r := range resources {
		_, _ = fmt.Fprintf(hash, "%d\n", len(r.GetValue()))
		_, _ = hash.Write(r.GetValue())
	}
	// Everything in it has been marshalled before, so it has a wire format.
	body, _ := proto.MarshalOptions{Deterministic: true}.Marshal(&discoveryv3.DiscoveryResponse{
		VersionInfo: hex.EncodeToString(hash.Sum(nil)[:8]), Resources: resources,
	})
	return body
}

// all are the files by name, with that of the clusters.
func (c content) all() map[string][]byte {
	files := maps.Clone(c.files)
	clusters := make([]*anypb.Any, 0, len(c.clusters))
	for _, name := range slices.Sorted(maps.Keys(c.clusters)) {
		clusters = append(clusters, c.clusters[name])
	}
	files[layout.Clusters] = respond(clusters...)
	return files
}

// id is the same for the same files.
func id(files map[string][]byte) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(hash, "%s %d\n", name, len(files[name]))
		_, _ = hash.Write(files[name])
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// loadedFile is the route table with which a proxy returns the ID of the files that it has loaded.
func loadedFile(id string) []byte {
	// Names and the id are ours, so it has a wire format.
	table, _ := anypb.New(&routev3.RouteConfiguration{
		Name: layout.LoadedTable,
		VirtualHosts: []*routev3.VirtualHost{{
			Name: layout.LoadedTable, Domains: []string{"*"},
			Routes: []*routev3.Route{{
				Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: layout.LoadedPath}},
				Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
					Status: 200, Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: id}},
				}},
			}},
		}},
	})
	return respond(table)
}

// Render gives all the files of a Gateway's proxies, which find them in the directory, and what those that have read them say at
// [layout.LoadedPath].
func Render(directory string, s xds.Snapshot) (map[string][]byte, string, error) {
	c, err := contentOf(directory, s)
	if err != nil {
		return nil, "", err
	}
	files := c.all()
	loaded := id(files)
	files[layout.Loaded] = loadedFile(loaded)
	return files, loaded, nil
}

// readContent is the inverse of all, for what another leader has written.
func readContent(files map[string][]byte) (content, error) {
	c := content{clusters: map[string]*anypb.Any{}, files: maps.Clone(files)}
	delete(c.files, layout.Clusters)
	delete(c.files, layout.Loaded)
	response := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(files[layout.Clusters], response); err != nil {
		return content{}, fmt.Errorf("reading %s: %w", layout.Clusters, err)
	}
	for _, packed := range response.GetResources() {
		cluster := &clusterv3.Cluster{}
		if err := packed.UnmarshalTo(cluster); err != nil {
			return content{}, fmt.Errorf("reading %s: %w", layout.Clusters, err)
		}
		c.clusters[cluster.GetName()] = packed
	}
	return c, nil
}

// mergedOver is content with what is in another one and not in it.
func (c content) mergedOver(other content) content {
	both := content{clusters: maps.Clone(other.clusters), files: maps.Clone(other.files)}
	maps.Copy(both.clusters, c.clusters)
	maps.Copy(both.files, c.files)
	return both
}

// provides reports whether everything that the listeners and route tables of another content may lead to is there: clusters, endpoints,
// secrets and route tables, by name.
func (c content) provides(other content) bool {
	for name := range other.clusters {
		if c.clusters[name] == nil {
			return false
		}
	}
	for name := range other.files {
		if _, ok := c.files[name]; !ok {
			return false
		}
	}
	return true
}

// refreshed takes endpoints and secrets from what is newer, for they need nothing and are waited for.
func (c content) refreshed(newer content) content {
	next := content{clusters: c.clusters, files: maps.Clone(c.files)}
	for name := range c.files {
		if file, ok := newer.files[name]; ok && !inUse(name) {
			next.files[name] = file
		}
	}
	return next
}

// inUse reports whether a file routes requests, so that its newer version must wait for the resources that it needs.
func inUse(file string) bool {
	return file == layout.Listeners || strings.HasPrefix(file, string(layout.RouteTables)+".")
}

func (c content) equal(other content) bool {
	return maps.EqualFunc(c.files, other.files, bytes.Equal) &&
		maps.EqualFunc(c.clusters, other.clusters, func(a, b *anypb.Any) bool { return bytes.Equal(a.GetValue(), b.GetValue()) })
}

// maxObject is the limit of data in one object. Kubernetes allows a mebibyte.
const maxObject = 1<<20 - 1<<12

// spread lays files into the objects of a fleet.
func spread(fleet string, files map[string][]byte) (map[layout.Object]map[string][]byte, error) {
	objects := map[layout.Object]map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		object := layout.ObjectOf(fleet, name)
		if objects[object] == nil {
			objects[object] = map[string][]byte{}
		}
		objects[object][name] = files[name]
	}
	for _, object := range layout.Objects(fleet) {
		size := 0
		for name, file := range objects[object] {
			size += len(name) + len(file)
		}
		if size > maxObject {
			return nil, fmt.Errorf("%s %s would have %d bytes, and Kubernetes allows no more than %d; "+
				"have fewer routes or backends at one Gateway, or use delivery XDS",
				kindOf(object), object.Name, size, maxObject)
		}
	}
	return objects, nil
}

func kindOf(object layout.Object) string {
	if object.Secret {
		return "Secret"
	}
	return "ConfigMap"
}
