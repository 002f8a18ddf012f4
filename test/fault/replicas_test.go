//go:build fault

package fault

import (
	"context"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replicaWatch looks at the wanted number of proxies all the time, and counts when it is not what it may be.
type replicaWatch struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu          sync.Mutex
	least, most int32
	wrong       []int32
	last        int32
}

func (w *fixture) watchReplicas(t *testing.T) *replicaWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watch := &replicaWatch{cancel: cancel, done: make(chan struct{}), least: 0, most: 100}
	go func() {
		defer close(watch.done)
		for ctx.Err() == nil {
			fleet := w.deployment(autoscaled)
			if err := w.Get(ctx, client.ObjectKeyFromObject(fleet), fleet); err == nil && fleet.Spec.Replicas != nil {
				watch.see(*fleet.Spec.Replicas)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { watch.stop() })
	return watch
}

// expect says which numbers are right from now on.
func (r *replicaWatch) expect(least, most int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.least, r.most = least, most
}

func (r *replicaWatch) see(n int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n != r.last && (n < r.least || n > r.most) {
		r.wrong = append(r.wrong, n)
	}
	r.last = n
}

// stop ends it and says how often the number became wrong.
func (r *replicaWatch) stop() int {
	r.cancel()
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.wrong)
}
