package watch

import (
	"context"
	"log/slog"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

// partial is a cluster whose API server serves a group of Kubernetes in one version only.
type partial struct {
	*cluster
	group, version string
}

func (p partial) GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	if gvk := p.gvk(object); gvk.Group == p.group && gvk.Version != p.version {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return p.cluster.GetInformer(ctx, object, opts...)
}

func TestOptionalKinds(t *testing.T) {
	t.Parallel()
	const bundle = "certificates"
	typed := &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Spec: certificatesv1.ClusterTrustBundleSpec{TrustBundle: bundle},
	}
	loose := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle",
		"metadata": map[string]any{"name": "ca"}, "spec": map[string]any{"trustBundle": bundle},
	}}
	for _, c := range []struct {
		name, version    string
		setServedVersion bool
	}{
		{"the best version is read", "v1", true},
		{"an older version is read", "v1beta1", true},
		{"a cluster without the kind is served all the same", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := partial{cluster: newCluster(t), group: certificatesv1.GroupName, version: c.version}
			server.of(certificatesv1.SchemeGroupVersion.WithKind("ClusterTrustBundle")).Add(typed.DeepCopy())
			server.of(loose.GroupVersionKind()).Add(loose.DeepCopy())
			seen := make(chan store.Change, 100)
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			watcher := New(server, slog.New(slog.DiscardHandler), func(e Event) {
				if e.Kind == store.ClusterTrustBundle {
					seen <- e.Change
				}
			})
			if err := watcher.Start(ctx); err != nil {
				t.Fatal(err)
			}
			passed := len(seen)
			if (passed > 0) != c.setServedVersion {
				t.Fatalf("%d bundles were passed on", passed)
			}
			if c.setServedVersion {
				object, ok := (<-seen).Object.(*certificatesv1.ClusterTrustBundle)
				if !ok || object.Spec.TrustBundle != bundle {
					t.Errorf("got %+v", object)
				}
			}
		})
	}
}
