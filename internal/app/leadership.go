package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	leaderElectionID = "gatewright-leader"
	// Leadership moves within these times when a leader dies, and at once when it stops in order.
	leaseDuration = 10 * time.Second
	renewDeadline = 7 * time.Second
	retryPeriod   = time.Second
)

// leadership lets one replica at a time do what only one may do. A replica that loses the lease, because the API server cannot be
// reached for a while, stops doing that and goes on with everything else: its proxies are served, and it may lead again.
// The manager of controller-runtime would end the process instead.
type leadership struct {
	lock resourcelock.Interface
	// parts work until their context ends, and can be started again afterwards.
	parts []manager.Runnable
	log   *slog.Logger
}

// newLock is the lease that the replicas compete for. That of client-go would not say which version asks for it.
func newLock(config *rest.Config, o Options) (resourcelock.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent += "/leader-election"
	// A request that gets no answer is over before the lease must have been renewed.
	config.Timeout = renewDeadline / 2
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the lease: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: leaderElectionID},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Instance + "_" + string(uuid.NewUUID())},
	}, nil
}

// Start implements [manager.Runnable]: it leads whenever it can, until the context ends.
func (l *leadership) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.term(ctx); err != nil {
			return err
		}
	}
	return nil
}

// NeedLeaderElection implements [manager.LeaderElectionRunnable].
func (*leadership) NeedLeaderElection() bool { return false }

// term waits for the lease and leads for as long as it is held. The lease is renewed until all parts have ended, so that no other
// replica leads before.
func (l *leadership) term(ctx context.Context) error {
	election, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	elected := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, Name: leaderElectionID,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) { elected <- held },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		elector.Run(election)
	}()
	select {
	case held := <-elected:
		err = l.lead(ctx, held)
	case <-ctx.Done():
	}
	resign()
	<-over
	if ctx.Err() != nil {
		l.release()
	}
	return err
}

// lead runs the parts until the lease is lost or the context ends, and returns when the last of them has ended.
func (l *leadership) lead(ctx, held context.Context) error {
	l.log.Info("this replica leads")
	working, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(held, stop)()
	problems := make([]error, len(l.parts))
	var group sync.WaitGroup
	for i, part := range l.parts {
		group.Go(func() {
			problems[i] = part.Start(working)
			stop()
		})
	}
	group.Wait()
	if held.Err() != nil && ctx.Err() == nil {
		l.log.Warn("the lease is lost, so this replica no longer leads; it goes on serving proxies")
	}
	return errors.Join(problems...)
}

// release lets another replica lead at once.
func (l *leadership) release() {
	ctx, cancel := context.WithTimeout(context.Background(), retryPeriod)
	defer cancel()
	record, _, err := l.lock.Get(ctx)
	if err != nil || record.HolderIdentity != l.lock.Identity() {
		return
	}
	now := metav1.Now()
	err = l.lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now,
	})
	if err != nil {
		l.log.Warn("the lease is not released, so it runs out", "error", err)
	}
}
