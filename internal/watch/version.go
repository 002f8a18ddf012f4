package watch

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// inVersion is an empty object of the kind in one of the versions that can be read: of the kind's own type in its best version, without
// a type in others.
func (k watched) inVersion(version string) client.Object {
	if version == k.Versions[0] {
		return k.Object
	}
	return k.untyped(version)
}

func (k watched) untyped(version string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: k.Group, Version: version, Kind: string(k.Kind)})
	return object
}

// typed gives an object that came in another version the type of the kind.
func (k watched) typed(object client.Object) (client.Object, error) {
	loose, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	fresh := k.New()
	return fresh, retype(loose, fresh)
}

func retype(loose *unstructured.Unstructured, into client.Object) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(loose.Object, into); err != nil {
		return fmt.Errorf("read %s %s of %s: %w", loose.GetKind(), store.KeyOf(loose), loose.GetAPIVersion(), err)
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}

// Statuses reads from the cache and writes status, in whichever version the cluster serves a kind.
type Statuses struct {
	watcher *Watcher
	client.Reader
	writer client.StatusClient
}

// Statuses makes a reader of the Watcher's own cache, and a writer, that need not know about versions.
func (w *Watcher) Statuses(reader client.Reader, writer client.StatusClient) *Statuses {
	return &Statuses{watcher: w, Reader: reader, writer: writer}
}

// Get implements [client.Reader]. An object of a kind that is not served is not found.
func (s *Statuses) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	f := s.watcher.watcherOf(object)
	if f == nil {
		return s.Reader.Get(ctx, key, object, opts...)
	}
	switch version := f.reading(); version {
	case "":
		return apierrors.NewNotFound(schema.GroupResource{Group: f.kind.Group, Resource: f.kind.Resource}, key.Name)
	case f.kind.Versions[0]:
		return s.Reader.Get(ctx, key, object, opts...)
	default:
		loose := f.kind.untyped(version)
		if err := s.Reader.Get(ctx, key, loose, opts...); err != nil {
			return err
		}
		return retype(loose, object)
	}
}

// Status implements [client.StatusClient].
func (s *Statuses) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: s.writer.Status(), watcher: s.watcher}
}

type statusWriter struct {
	client.SubResourceWriter
	watcher *Watcher
}

// Patch implements [client.SubResourceWriter].
func (s statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	f := s.watcher.watcherOf(object)
	if f == nil {
		return s.SubResourceWriter.Patch(ctx, object, patch, opts...)
	}
	version := f.reading()
	if version == "" || version == f.kind.Versions[0] {
		return s.SubResourceWriter.Patch(ctx, object, patch, opts...)
	}
	data, err := patch.Data(object)
	if err != nil {
		return fmt.Errorf("compare %s %s: %w", f.kind.Kind, store.KeyOf(object), err)
	}
	loose := f.kind.untyped(version)
	loose.SetNamespace(object.GetNamespace())
	loose.SetName(object.GetName())
	if err := s.SubResourceWriter.Patch(ctx, loose, client.RawPatch(patch.Type(), data), opts...); err != nil {
		return err
	}
	return retype(loose, object)
}

// watcherOf finds the watcher of an object's kind, if that may come and go.
func (w *Watcher) watcherOf(object client.Object) *kindWatcher {
	for _, f := range w.watchers {
		if reflect.TypeOf(f.kind.Object) == reflect.TypeOf(object) {
			return f
		}
	}
	return nil
}

// reading is the version that objects come from.
func (f *kindWatcher) reading() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current == nil {
		return ""
	}
	return f.current.version
}
