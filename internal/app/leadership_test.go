package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// cluster keeps one lease, and can be cut off.
type cluster struct {
	*fake.Clientset
	gone atomic.Bool
}

func newCluster() *cluster {
	c := &cluster{Clientset: fake.NewClientset()}
	c.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return c.gone.Load(), nil, errors.New("the API server cannot be reached")
	})
	return c
}

func (c *cluster) holder(t *testing.T) string {
	t.Helper()
	lease, err := c.CoordinationV1().Leases("system").Get(t.Context(), leaderElectionID, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return holderOf(lease)
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// candidate counts how often its part runs at the moment, and how often it was started.
type candidate struct {
	running, started atomic.Int32
	ended            atomic.Bool
	stop             context.CancelFunc
}

// start runs a replica whose part takes a second to end.
func (c *cluster) start(t *testing.T, name string) *candidate {
	t.Helper()
	r := &candidate{}
	part := manager.RunnableFunc(func(ctx context.Context) error {
		r.started.Add(1)
		r.running.Add(1)
		defer r.running.Add(-1)
		<-ctx.Done()
		time.Sleep(time.Second)
		return nil
	})
	leader := &leadership{
		lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "system", Name: leaderElectionID}, Client: c.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		parts: []manager.Runnable{part}, log: slog.New(slog.DiscardHandler),
	}
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	t.Cleanup(stop)
	go func() {
		if err := leader.Start(ctx); err != nil {
			t.Error(err)
		}
		r.ended.Store(true)
	}()
	synctest.Wait()
	return r
}

func TestLeadership(t *testing.T) {
	t.Parallel()
	t.Run("one replica leads, and another as soon as it stops in order", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCluster()
			a := c.start(t, "a")
			b := c.start(t, "b")
			time.Sleep(time.Minute)
			if a.running.Load() != 1 || b.running.Load() != 0 || c.holder(t) != "a" {
				t.Fatalf("a runs %d, b %d, %q holds the lease", a.running.Load(), b.running.Load(), c.holder(t))
			}
			a.stop()
			time.Sleep(time.Second / 2)
			if b.running.Load() != 0 || c.holder(t) != "a" {
				t.Fatal("the lease was given away while a part was still at work")
			}
			time.Sleep(3 * retryPeriod)
			if !a.ended.Load() || b.running.Load() != 1 || c.holder(t) != "b" {
				t.Fatalf("a ended: %t, b runs %d, %q holds the lease", a.ended.Load(), b.running.Load(), c.holder(t))
			}
			b.stop()
			time.Sleep(time.Minute)
		})
	})
	t.Run("a lease that is lost ends leading before another can lead, and not the replica", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCluster()
			a := c.start(t, "a")
			time.Sleep(time.Minute)
			c.gone.Store(true)
			time.Sleep(leaseDuration - time.Nanosecond)
			if a.running.Load() != 0 {
				t.Fatal("it still leads when the lease may be another replica's")
			}
			time.Sleep(5 * time.Minute)
			if a.ended.Load() {
				t.Fatal("the replica ended")
			}
			c.gone.Store(false)
			time.Sleep(3 * retryPeriod)
			if a.running.Load() != 1 || a.started.Load() != 2 {
				t.Fatalf("it runs %d times and was started %d times", a.running.Load(), a.started.Load())
			}
			a.stop()
			time.Sleep(time.Minute)
		})
	})
}
