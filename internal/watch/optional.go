package watch

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
)

// probe finds out in which version the cluster serves a kind of Kubernetes itself. That changes only with the API server, so it is asked
// once; it is not announced.
func (f *kindWatcher) probe(ctx context.Context) error {
	for _, version := range f.kind.Versions {
		_, err := f.kind.informer(ctx, f.informers, f.kind.inVersion(version))
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return err
		}
		f.setServedVersion(version)
		return nil
	}
	return nil
}
