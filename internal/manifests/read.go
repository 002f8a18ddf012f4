package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/store"
)

// Objects are what was read.
type Objects struct {
	Changes []store.Change
	// Warnings say what was left out: objects of other kinds are not listed, but those of known kinds and other groups or versions are, and
	// unknown fields.
	Warnings []string
}

// Add adds other objects. Of several with the same kind and key, the last counts.
func (o *Objects) Add(other Objects) {
	o.Changes = append(o.Changes, other.Changes...)
	o.Warnings = append(o.Warnings, other.Warnings...)
}

// Read reads all documents of a text, and the items of lists. An object without a namespace is in the given one. Documents of kinds that
// are not watched are left out.
func Read(text []byte, namespace string) (Objects, error) {
	var documents [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Objects{}, fmt.Errorf("reading YAML: %w", err)
		}
		documents = append(documents, document)
	}
	return readAll(documents, namespace)
}

// readAll reads documents on all processors, because YAML is slow to read.
func readAll(documents [][]byte, namespace string) (Objects, error) {
	parts, errs := make([]Objects, len(documents)), make([]error, len(documents))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(documents); i = int(next.Add(1)) - 1 {
				content, err := yaml.YAMLToJSON(documents[i])
				if err != nil {
					errs[i] = fmt.Errorf("reading YAML: %w", err)
					continue
				}
				errs[i] = parts[i].read(content, namespace)
			}
		})
	}
	wait.Wait()
	var objects Objects
	for i := range parts {
		if errs[i] != nil {
			return Objects{}, errs[i]
		}
		objects.Add(parts[i])
	}
	return objects, nil
}

// read adds one object, or the items of a list.
func (o *Objects) read(content []byte, namespace string) error {
	var head struct {
		metav1.TypeMeta
		Metadata struct{ Name string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(content, &head); err != nil {
		// It is no object.
		return nil //nolint:nilerr // such as a document of comments
	}
	if strings.HasSuffix(head.Kind, "List") && head.Items != nil {
		for _, item := range head.Items {
			if err := o.read(item, namespace); err != nil {
				return err
			}
		}
		return nil
	}
	d, ok := store.DescriptorOf(store.Kind(head.Kind))
	if !ok {
		return nil
	}
	group, version, hasGroup := strings.Cut(head.APIVersion, "/")
	if !hasGroup {
		group, version = "", head.APIVersion
	}
	if head.APIVersion != "" && (group != d.Group || !slices.Contains(d.Versions, version)) {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%s %s of %s is left out: only %s/%s is read", head.Kind, head.Metadata.Name,
			head.APIVersion, d.Group, strings.Join(d.Versions, ",")))
		return nil
	}
	return o.decode(d, content, head.Metadata.Name, namespace)
}

func (o *Objects) decode(d *store.Descriptor, content []byte, name, namespace string) error {
	object := d.New()
	unknown, err := kjson.UnmarshalStrict(content, object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", d.Kind, name, err)
	}
	for _, field := range unknown {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%s %s: %v", d.Kind, name, field))
	}
	if object.GetNamespace() == "" && !d.ClusterScoped {
		object.SetNamespace(namespace)
	}
	if d.Trim != nil {
		d.Trim(object)
	}
	o.Changes = append(o.Changes, store.Change{Kind: d.Kind, Key: store.KeyOf(object), Object: object})
	return nil
}
