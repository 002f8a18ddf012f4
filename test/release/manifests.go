package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const namespace = "gatewright-system"

const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [install.yaml, gatewayclass.yaml]
`

// manifests renders the charts for clients without Helm. kubectl cannot apply an object together with its definition, so the GatewayClass
// has a file of its own.
func (b *build) manifests(ctx context.Context) error {
	objects := []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}}
	for _, chart := range chartNames {
		set := map[string]string{"gatewright-crds": "unchecked=true", "gatewright": "crds.create=false"}[chart]
		text, err := run(ctx, b.tree, nil, b.helm, "template", chart, b.chart(chart), "--namespace="+namespace, "--set="+set)
		if err != nil {
			return err
		}
		rendered, err := parse(text)
		if err != nil {
			return fmt.Errorf("read the rendered chart %s: %w", chart, err)
		}
		objects = append(objects, rendered...)
	}
	var install, class []byte
	for _, object := range objects {
		withoutHelm(object.Object)
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		to := &install
		if object.GetKind() == "GatewayClass" {
			to = &class
		}
		*to = append(append(*to, "---\n"...), text...)
	}
	for name, content := range map[string][]byte{
		"install.yaml": install, "gatewayclass.yaml": class, "kustomization.yaml": []byte(kustomization),
	} {
		if err := b.write(name, content); err != nil {
			return err
		}
	}
	return nil
}

// parse reads the objects of a rendered chart.
func parse(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for documents := yamlreader.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}
		var content map[string]any
		if err := yaml.Unmarshal(document, &content); err != nil {
			return nil, fmt.Errorf("read %q: %w", bytes.TrimSpace(document), err)
		}
		if len(content) == 0 {
			continue // comments
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, object); err != nil { // unlike a map, it keeps large numbers as they are
			return nil, fmt.Errorf("read %q: %w", bytes.TrimSpace(document), err)
		}
		objects = append(objects, object)
	}
}

// withoutHelm takes away what says that a release of Helm has the object, at any depth. What is for Argo CD stays.
func withoutHelm(object map[string]any) {
	for key, value := range object {
		switch value := value.(type) {
		case map[string]any:
			withoutHelm(value)
		case string:
			if strings.Contains(key, "helm.sh/") || key == "app.kubernetes.io/managed-by" && value == "Helm" {
				delete(object, key)
			}
		}
	}
}

// write adds a file to the release.
func (b *build) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(b.files, name), content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
