package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// freshFor is how long an accepted token is not reviewed again. A token whose pod is gone can open streams for this long at most. A
	// proxy that reconnects all the time costs one review in this time.
	freshFor = time.Minute
	// rejectedFor is how long a rejected token is not reviewed again. It is short: a proxy may connect before the API server has seen its
	// pod.
	rejectedFor = 2 * time.Second
	// maxAccepted and maxRejected bound the caches. A control plane serves far fewer proxies than maxAccepted.
	maxAccepted = 8192
	maxRejected = 1024
	// maxReviews bounds the reviews in progress in each lane, so that a flood of callers does not reach the API server.
	maxReviews = 16
	// maxChecked bounds the waiting tokens with a checked signature, which only pods of the cluster have.
	maxChecked = 4096
	// maxUnchecked bounds the other waiting tokens, and maxOfSource those from one address. A review takes some milliseconds, so this is more
	// than a second of them. A caller that is rejected retries.
	maxUnchecked = 256
	maxOfSource  = 64
	// reviewTimeout is the timeout for a slot, and then for an answer; failingTimeout applies after several reviews in a row without one.
	reviewTimeout  = 3 * time.Second
	failingTimeout = time.Second
	failuresInARow = 3
	// reviewWait is how long a known caller waits for an API server that may not answer at all.
	reviewWait = 500 * time.Millisecond
)

// key is the hash of a token. Tokens themselves are not stored.
type key [sha256.Size]byte

// reviews caches the results of reviews, never beyond the expiry of the token. A result that is no longer fresh is used while the API
// server cannot be reached.
type reviews struct {
	reviewer Reviewer
	audience string
	now      clock
	log      *slog.Logger

	// accepted and rejected hold an [answer] for each [key].
	accepted, rejected *cache.LRUExpireCache
	// flights are the reviews in progress, each for all callers that wait for it.
	flights singleflight.Group

	// mu guards the counters of the lanes.
	mu sync.Mutex
	// checked and unchecked are the lanes of tokens whose signature was checked, and of others.
	checked, unchecked *lane
}

// answer is the review of a token, with its time.
type answer struct {
	review Review
	at     time.Time
}

// clock is a [cache.Clock].
type clock func() time.Time

func (c clock) Now() time.Time { return c() }

var errFull = errors.New("too many reviews are waited for")

func newReviews(config Config) *reviews {
	now := clock(config.Now)
	return &reviews{
		reviewer: config.Reviewer, audience: config.Audience, now: now, log: config.Log,
		accepted: cache.NewLRUExpireCacheWithClock(maxAccepted, now), rejected: cache.NewLRUExpireCacheWithClock(maxRejected, now),
		checked: newLane(maxChecked, maxChecked), unchecked: newLane(maxUnchecked, maxOfSource),
	}
}

// of returns the review of a token that expires at a time. It waits no longer than the caller.
func (r *reviews) of(ctx context.Context, token string, checked bool, expires time.Time) (Review, error) {
	k := key(sha256.Sum256([]byte(token)))
	known, ok := r.known(k)
	if ok && r.fresh(known) {
		return known.review, nil
	}
	// Other callers may wait for it too, so it does not end with this one.
	shared := context.WithoutCancel(ctx)
	flight := r.flights.DoChan(string(k[:]), func() (any, error) { return r.review(shared, k, token, checked, expires) })
	if !ok {
		return wait(ctx, flight)
	}
	limited, cancel := context.WithTimeout(ctx, reviewWait)
	defer cancel()
	if review, err := wait(limited, flight); err == nil {
		return review, nil
	}
	return known.review, nil
}

func wait(ctx context.Context, flight <-chan singleflight.Result) (Review, error) {
	select {
	case result := <-flight:
		review, _ := result.Val.(Review)
		return review, result.Err
	case <-ctx.Done():
		return Review{}, fmt.Errorf("waiting for a review: %w", ctx.Err())
	}
}

// known returns the cached review of a token.
func (r *reviews) known(k key) (answer, bool) {
	found, ok := r.accepted.Get(k)
	if !ok {
		found, _ = r.rejected.Get(k)
	}
	known, ok := found.(answer)
	return known, ok
}

func (r *reviews) fresh(known answer) bool { return r.now().Sub(known.at) < freshFor }

// review reviews a token if there is room in its lane. There is one review at a time for each token.
func (r *reviews) review(ctx context.Context, k key, token string, checked bool, expires time.Time) (Review, error) {
	known, ok := r.known(k)
	if ok && r.fresh(known) { // by a review that ended after the caller read the cache
		return known.review, nil
	}
	in, source := r.unchecked, sourceOf(ctx)
	if checked || ok {
		in = r.checked
	}
	timeout, entered := r.enter(in, source)
	if !entered {
		return Review{}, errFull
	}
	review, asked, err := in.review(ctx, timeout, func(ctx context.Context) (Review, error) {
		return r.reviewer.Review(ctx, token, r.audience)
	})
	if err == nil {
		r.remember(k, review, expires)
	}
	changed := r.leave(in, source, asked, err)
	switch {
	case changed && err != nil:
		r.log.Error("cannot review tokens of proxies, only known ones are accepted", "error", err)
	case changed:
		r.log.Info("tokens of proxies are reviewed again")
	}
	return review, err
}

// enter takes a place in a lane, and returns the timeout of a review there.
func (r *reviews) enter(in *lane, source string) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return in.timeout(), in.enter(source)
}

// leave records the result of a review, and reports whether it changed from success to failure or back.
func (r *reviews) leave(in *lane, source string, asked bool, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	in.leave(source)
	failing := in.failures > 0
	switch {
	case err == nil:
		in.failures = 0
	case asked:
		in.failures++
	}
	return failing != (in.failures > 0)
}

// remember caches a review for as long as it may be used. A cache keeps an entry through its last instant, at which a token has expired
// already, so the time is one nanosecond less.
func (r *reviews) remember(k key, review Review, expires time.Time) {
	now := r.now()
	a := answer{review: review, at: now}
	if review.Rejection == "" {
		r.rejected.Remove(k)
		r.accepted.Add(k, a, expires.Sub(now)-time.Nanosecond)
		return
	}
	r.accepted.Remove(k)
	r.rejected.Add(k, a, rejectedFor-time.Nanosecond)
}
