package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/manifests"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/store"
)

// load reads the objects of files and directories, and adds a GatewayClass for Gateways whose class is not among them.
func load(paths []string, namespace string, standardInput io.Reader) (manifests.Objects, error) {
	if len(paths) == 0 {
		return manifests.Objects{}, errNoFiles
	}
	var objects manifests.Objects
	add := func(name string, read func() ([]byte, error)) error {
		text, err := read()
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		more, err := manifests.Read(text, namespace)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		objects.Add(more)
		return nil
	}
	for _, path := range paths {
		if path == "-" {
			if err := add("standard input", func() ([]byte, error) { return io.ReadAll(standardInput) }); err != nil {
				return objects, err
			}
			continue
		}
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || file != path && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
				return err
			}
			return add(file, func() ([]byte, error) { return os.ReadFile(file) }) //nolint:gosec // the user names the files
		})
		if err != nil {
			return objects, err
		}
	}
	addClasses(&objects)
	return objects, nil
}

// addClasses adds the classes of Gateways that no file has, as if they were Gatewright's.
func addClasses(objects *manifests.Objects) {
	known := map[string]bool{}
	for _, c := range objects.Changes {
		if c.Kind == store.GatewayClass {
			known[c.Key] = true
		}
	}
	for _, c := range objects.Changes {
		gateway, ok := c.Object.(*gwv1.Gateway)
		if !ok || known[string(gateway.Spec.GatewayClassName)] {
			continue
		}
		name := string(gateway.Spec.GatewayClassName)
		known[name] = true
		objects.Warnings = append(objects.Warnings, fmt.Sprintf("GatewayClass %s is in no file; it is taken for one of Gatewright", name))
		objects.Changes = append(objects.Changes, store.Change{Kind: store.GatewayClass, Key: name, Object: &gwv1.GatewayClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gwv1.GatewayClassSpec{ControllerName: class.ControllerName},
		}})
	}
}

// compute is what proxies do with the objects, where all that an operator can enable is enabled. Without any EndpointSlice it is not known
// which endpoints there are.
func compute(objects []store.Change) explain.Config {
	config := pipeline.Offline(objects, pipeline.WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true}), pipeline.WithFiles(true),
		pipeline.WithGlobalRateLimits(true), pipeline.WithSystemNamespace("gatewright-system")).Explainable()
	if !slices.ContainsFunc(objects, func(c store.Change) bool { return c.Kind == store.EndpointSlice }) {
		config.Endpoints = nil
	}
	return config
}
