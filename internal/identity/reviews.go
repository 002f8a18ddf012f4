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
	// freshFor is how long an accepted token is not reviewed again. One that was withdrawn, because its pod is gone, opens streams for this
	// long at most; a proxy that reconnects all the time costs one review in this time.
	freshFor = time.Minute
	// refusedFor is how long a refused token is not reviewed again. It is short: a proxy may come before the API server has seen its pod.
	refusedFor = 2 * time.Second
	// maxAccepted and maxRefused bound what is remembered: the tokens of far more proxies than a control plane serves, and of no more
	// callers than that.
	maxAccepted = 8192
	maxRefused  = 1024
	// maxReviews is how many can be under way in each lane, so that a flood of callers is not passed on to the API server.
	maxReviews = 16
	// maxChecked is how many tokens whose signature was checked may wait, which only pods of the cluster have.
	maxChecked = 4096
	// maxUnchecked is how many other tokens may wait, and maxOfSource how many of these from one address. A review takes some milliseconds,
	// so this is more than a second of them; who is turned away tries again.
	maxUnchecked = 256
	maxOfSource  = 64
	// reviewTimeout is how long a slot, and then an answer, is waited for; failingTimeout when several reviews in a row had none.
	reviewTimeout  = 3 * time.Second
	failingTimeout = time.Second
	failuresInARow = 3
	// knownPatience is how long somebody who is known waits for an API server that may not answer at all.
	knownPatience = 500 * time.Millisecond
)

// key stands for a token, which is kept nowhere.
type key [sha256.Size]byte

// reviews remembers what became of tokens, never beyond their own end. An answer that is no longer fresh is used while the API server can
// not be asked.
type reviews struct {
	reviewer Reviewer
	audience string
	now      clock
	log      *slog.Logger

	// accepted and refused hold an [answer] for each [key].
	accepted, refused *cache.LRUExpireCache
	// flights are the reviews under way, each for everybody who waits for it.
	flights singleflight.Group

	// mu is for what the lanes count.
	mu sync.Mutex
	// checked and unchecked are the lanes of tokens whose signature was checked, and of others.
	checked, unchecked *lane
}

// answer is what was said of a token, and when.
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
		accepted: cache.NewLRUExpireCacheWithClock(maxAccepted, now), refused: cache.NewLRUExpireCacheWithClock(maxRefused, now),
		checked: newLane(maxChecked, maxChecked), unchecked: newLane(maxUnchecked, maxOfSource),
	}
}

// of gives the review of a token that ends at a time. It waits no longer than the caller does.
func (r *reviews) of(ctx context.Context, token string, checked bool, expires time.Time) (Review, error) {
	k := key(sha256.Sum256([]byte(token)))
	known, ok := r.known(k)
	if ok && r.fresh(known) {
		return known.review, nil
	}
	// Others may wait for it too, so it does not end with this caller.
	unending := context.WithoutCancel(ctx)
	flight := r.flights.DoChan(string(k[:]), func() (any, error) { return r.review(unending, k, token, checked, expires) })
	if !ok {
		return wait(ctx, flight)
	}
	patient, cancel := context.WithTimeout(ctx, knownPatience)
	defer cancel()
	if review, err := wait(patient, flight); err == nil {
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

// known is what is remembered of a token and still holds.
func (r *reviews) known(k key) (answer, bool) {
	found, ok := r.accepted.Get(k)
	if !ok {
		found, _ = r.refused.Get(k)
	}
	known, ok := found.(answer)
	return known, ok
}

func (r *reviews) fresh(known answer) bool { return r.now().Sub(known.at) < freshFor }

// review asks about a token if there is room for one more in its lane. One review at a time is under way for each token.
func (r *reviews) review(ctx context.Context, k key, token string, checked bool, expires time.Time) (Review, error) {
	known, ok := r.known(k)
	if ok && r.fresh(known) { // by a review that ended after the caller had looked
		return known.review, nil
	}
	in, source := r.unchecked, sourceOf(ctx)
	if checked || ok {
		in = r.checked
	}
	patience, entered := r.enter(in, source)
	if !entered {
		return Review{}, errFull
	}
	review, asked, err := in.review(ctx, patience, func(ctx context.Context) (Review, error) {
		return r.reviewer.Review(ctx, token, r.audience)
	})
	if err == nil {
		r.remember(k, review, expires)
	}
	changed := r.leave(in, source, asked, err)
	switch {
	case changed && err != nil:
		r.log.Error("tokens of proxies can not be reviewed, only known ones are accepted", "error", err)
	case changed:
		r.log.Info("tokens of proxies are reviewed again")
	}
	return review, err
}

// enter takes a place in a lane, and says how long a review is waited for there.
func (r *reviews) enter(in *lane, source string) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return in.patience(), in.enter(source)
}

// leave takes note of what became of a review, and says whether that is another thing than became of the one before.
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

// remember keeps an answer for as long as it may be used. The caches keep what they have until after its last instant, at which a token
// has ended: so they are told to keep it for an instant less.
func (r *reviews) remember(k key, review Review, expires time.Time) {
	now := r.now()
	a := answer{review: review, at: now}
	if review.Refusal == "" {
		r.refused.Remove(k)
		r.accepted.Add(k, a, expires.Sub(now)-time.Nanosecond)
		return
	}
	r.accepted.Remove(k)
	r.refused.Add(k, a, refusedFor-time.Nanosecond)
}
