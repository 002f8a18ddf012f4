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

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/xds"
)

// content is what proxies have, or are to have, by files. It is never changed; all bytes are the same for the same resources.
type content struct {
	// clusters are those of the one file that has them all, by name.
	clusters map[string]*anypb.Any
	// files are all the others, but for the one that says what has been read.
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
		listener, err := localize(directory, r.GetResource())
		if err != nil {
			return content{}, fmt.Errorf("listener %s: %w", r.GetName(), err)
		}
		listeners = append(listeners, listener)
	}
	c.files[render.ListenersFile] = respond(listeners...)
	return c, nil
}

// lastOf is the same for proxies that are to be replaced by such that are supplied in another way. Listeners may already look for their routes in that way, so the old ones stay.
func lastOf(directory string, s xds.Snapshot, have content) (content, error) {
	c, err := withoutListeners(directory, s)
	if err == nil {
		c.files[render.ListenersFile] = have.files[render.ListenersFile]
	}
	return c, err
}

func withoutListeners(directory string, s xds.Snapshot) (content, error) {
	c := content{clusters: map[string]*anypb.Any{}, files: map[string][]byte{}}
	for _, r := range s.Clusters {
		cluster, err := localize(directory, r.GetResource())
		if err != nil {
			return content{}, fmt.Errorf("cluster %s: %w", r.GetName(), err)
		}
		c.clusters[r.GetName()] = cluster
	}
	for kind, resources := range map[render.FileKind][]*discoveryv3.Resource{
		render.RouteTableFiles: s.RouteTables, render.EndpointFiles: s.Endpoints, render.SecretFiles: s.Secrets,
	} {
		for _, r := range resources {
			c.files[render.FileName(kind, r.GetName())] = respond(r.GetResource())
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
	files[render.ClustersFile] = respond(clusters...)
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

// loadedFile has a proxy that has read it say so.
func loadedFile(id string) []byte {
	// Names and the id are ours, so it has a wire format.
	table, _ := anypb.New(&routev3.RouteConfiguration{
		Name: render.LoadedTable,
		VirtualHosts: []*routev3.VirtualHost{{
			Name: render.LoadedTable, Domains: []string{"*"},
			Routes: []*routev3.Route{{
				Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: render.LoadedPath}},
				Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
					Status: 200, Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: id}},
				}},
			}},
		}},
	})
	return respond(table)
}

// Lay gives all the files of a Gateway's proxies, which find them in the directory, and what those that have read them say at [render.LoadedPath].
func Lay(directory string, s xds.Snapshot) (map[string][]byte, string, error) {
	c, err := contentOf(directory, s)
	if err != nil {
		return nil, "", err
	}
	files := c.all()
	loaded := id(files)
	files[render.LoadedFile] = loadedFile(loaded)
	return files, loaded, nil
}

// readContent is the inverse of all, for what another leader has written.
func readContent(files map[string][]byte) (content, error) {
	c := content{clusters: map[string]*anypb.Any{}, files: maps.Clone(files)}
	delete(c.files, render.ClustersFile)
	delete(c.files, render.LoadedFile)
	response := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(files[render.ClustersFile], response); err != nil {
		return content{}, fmt.Errorf("reading %s: %w", render.ClustersFile, err)
	}
	for _, packed := range response.GetResources() {
		cluster := &clusterv3.Cluster{}
		if err := packed.UnmarshalTo(cluster); err != nil {
			return content{}, fmt.Errorf("reading %s: %w", render.ClustersFile, err)
		}
		c.clusters[cluster.GetName()] = packed
	}
	return c, nil
}

// beside is content with what is in another one and not in it.
func (c content) beside(other content) content {
	both := content{clusters: maps.Clone(other.clusters), files: maps.Clone(other.files)}
	maps.Copy(both.clusters, c.clusters)
	maps.Copy(both.files, c.files)
	return both
}

// provides says whether everything that the listeners and route tables of another content may lead to is there: clusters, endpoints, secrets and route tables, by name.
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

// inUse says whether a file sends requests somewhere, so that its newer version has to wait for what it needs.
func inUse(file string) bool {
	return file == render.ListenersFile || strings.HasPrefix(file, string(render.RouteTableFiles)+".")
}

func (c content) equal(other content) bool {
	return maps.EqualFunc(c.files, other.files, bytes.Equal) &&
		maps.EqualFunc(c.clusters, other.clusters, func(a, b *anypb.Any) bool { return bytes.Equal(a.GetValue(), b.GetValue()) })
}

// maxObject is how much goes into one object. Kubernetes allows a mebibyte of data.
const maxObject = 1<<20 - 1<<12

// spread lays files into the objects of a fleet.
func spread(fleet string, files map[string][]byte) (map[render.FileObject]map[string][]byte, error) {
	objects := map[render.FileObject]map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		object := render.FileObjectOf(fleet, name)
		if objects[object] == nil {
			objects[object] = map[string][]byte{}
		}
		objects[object][name] = files[name]
	}
	for _, object := range render.FileObjects(fleet) {
		size := 0
		for name, file := range objects[object] {
			size += len(name) + len(file)
		}
		if size > maxObject {
			return nil, fmt.Errorf("%s %s would have %d bytes, and Kubernetes allows no more than %d; have fewer routes or backends at one Gateway, or use delivery XDS",
				kindOf(object), object.Name, size, maxObject)
		}
	}
	return objects, nil
}

func kindOf(object render.FileObject) string {
	if object.Secret {
		return "Secret"
	}
	return "ConfigMap"
}
