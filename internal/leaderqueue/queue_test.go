package leaderqueue_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/leaderqueue"
)

var errNo = errors.New("no")

func TestATaskThatFailsIsDoneAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		all := leaderqueue.New[string]("test", 2, slog.New(slog.DiscardHandler))
		var attempts, others atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			all.Run(ctx, func() { all.Add("stubborn") }, func(_ context.Context, key string) error {
				if key != "stubborn" {
					others.Add(1)
					return nil
				}
				if attempts.Add(1) < 4 {
					return errNo
				}
				return nil
			})
		}()
		synctest.Wait()
		all.Add("other")
		all.AddAfter("later", time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		if attempts.Load() != 4 || others.Load() != 1 || !all.Running() {
			t.Errorf("%d attempts and %d others", attempts.Load(), others.Load())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if others.Load() != 2 {
			t.Error("what was to be done later is not")
		}
		cancel()
		<-done
		all.Add("too late")
		if all.Running() || others.Load() != 2 {
			t.Error("it goes on after its end")
		}
	})
}

func TestARunBeginsWithNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := leaderqueue.New[string]("test", 1, slog.New(slog.DiscardHandler))
		all.Add("before")
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			var did []string
			go all.Run(ctx, func() { all.Add("first") }, func(_ context.Context, key string) error {
				did = append(did, key)
				return errNo
			})
			synctest.Wait()
			cancel()
			synctest.Wait()
			if len(did) != 1 || did[0] != "first" {
				t.Errorf("it did %v", did)
			}
		}
	})
}

func TestRetryUntilSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts, reported := 0, 0
		try := func() error {
			if attempts++; attempts < 5 {
				return errNo
			}
			return nil
		}
		if !leaderqueue.RetryUntilSuccess(t.Context(), try, func(error) { reported++ }) || attempts != 5 || reported != 4 {
			t.Errorf("%d attempts, reported %d times", attempts, reported)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if leaderqueue.RetryUntilSuccess(ctx, func() error { return errNo }, func(error) {}) {
			t.Error("it says that it succeeded")
		}
	})
}

func TestATaskThatPanicsKeepsNoOtherFromBeingDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		all := leaderqueue.New[string]("test", 1, slog.New(slog.DiscardHandler))
		var attempts, others atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			all.Run(ctx, func() { all.Add("broken") }, func(_ context.Context, key string) error {
				if key == "broken" {
					attempts.Add(1)
					panic("broken")
				}
				others.Add(1)
				return nil
			})
		}()
		synctest.Wait()
		all.Add("other")
		time.Sleep(time.Second)
		synctest.Wait()
		if attempts.Load() < 2 || others.Load() != 1 {
			t.Errorf("%d attempts and %d others, want a few and one", attempts.Load(), others.Load())
		}
		cancel()
		<-done
	})
}
