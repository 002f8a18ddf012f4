package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
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
	now      func() time.Time
	log      *slog.Logger

	mu       sync.Mutex
	accepted *recent
	refused  *recent
	pending  map[key]*pending
	// checked and unchecked are the lanes of tokens whose signature was checked, and of others.
	checked, unchecked *lane
}

// pending is a review under way, for everybody who waits for it.
type pending struct {
	done   chan struct{}
	review Review
	err    error
	lane   *lane
	source string
}

var errFull = errors.New("too many reviews are waited for")

func newReviews(config Config) *reviews {
	return &reviews{
		reviewer: config.Reviewer, audience: config.Audience, now: config.Now, log: config.Log,
		accepted: newRecent(maxAccepted), refused: newRecent(maxRefused), pending: map[key]*pending{},
		checked: newLane(maxChecked, maxChecked), unchecked: newLane(maxUnchecked, maxOfSource),
	}
}

// of gives the review of a token that ends at a time. It waits no longer than the caller does.
func (r *reviews) of(ctx context.Context, token string, checked bool, expires time.Time) (Review, error) {
	k := key(sha256.Sum256([]byte(token)))
	known, ok, p := r.begin(ctx, k, token, checked, expires)
	switch {
	case p == nil && ok:
		return known.review, nil
	case p == nil:
		return Review{}, errFull
	case !ok:
		return p.wait(ctx)
	}
	patient, cancel := context.WithTimeout(ctx, knownPatience)
	defer cancel()
	if review, err := p.wait(patient); err == nil {
		return review, nil
	}
	return known.review, nil
}

// begin gives what is known of a token, and the review under way if that is not fresh and there is room for one.
func (r *reviews) begin(ctx context.Context, k key, token string, checked bool, expires time.Time) (answer, bool, *pending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	known, ok := r.known(k, now)
	if ok && now.Sub(known.at) < freshFor {
		return known, true, nil
	}
	p := r.pending[k]
	if p != nil {
		return known, ok, p
	}
	p = &pending{done: make(chan struct{}), lane: r.unchecked, source: sourceOf(ctx)}
	if checked || ok {
		p.lane = r.checked
	}
	if !p.lane.enter(p.source) {
		return known, ok, nil
	}
	r.pending[k] = p
	// Others may wait for it too, so it does not end with this caller.
	go r.ask(context.WithoutCancel(ctx), p.lane.patience(), k, p, token, expires)
	return known, ok, p
}

func (p *pending) wait(ctx context.Context) (Review, error) {
	select {
	case <-p.done:
		return p.review, p.err
	case <-ctx.Done():
		return Review{}, fmt.Errorf("waiting for a review: %w", ctx.Err())
	}
}

// known is what is remembered of a token and still holds.
func (r *reviews) known(k key, now time.Time) (answer, bool) {
	if known, ok := r.accepted.get(k); ok {
		if now.Before(known.expires) {
			return known, true
		}
		r.accepted.remove(k)
	}
	if known, ok := r.refused.get(k); ok {
		if now.Sub(known.at) < refusedFor {
			return known, true
		}
		r.refused.remove(k)
	}
	return answer{}, false
}

func (r *reviews) ask(ctx context.Context, patience time.Duration, k key, p *pending, token string, expires time.Time) {
	review, asked, err := p.lane.review(ctx, patience, func(ctx context.Context) (Review, error) {
		return r.reviewer.Review(ctx, token, r.audience)
	})
	p.review, p.err = review, err
	changed := r.conclude(k, p, asked, expires)
	close(p.done)
	switch {
	case changed && p.err != nil:
		r.log.Error("tokens of proxies can not be reviewed, only known ones are accepted", "error", p.err)
	case changed:
		r.log.Info("tokens of proxies are reviewed again")
	}
}

// conclude takes note of what became of a review, and says whether that is another thing than became of the one before.
func (r *reviews) conclude(k key, p *pending, asked bool, expires time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, k)
	p.lane.leave(p.source)
	failing := p.lane.failures > 0
	switch {
	case p.err == nil:
		r.remember(k, answer{review: p.review, at: r.now(), expires: expires})
		p.lane.failures = 0
	case asked:
		p.lane.failures++
	}
	return failing != (p.lane.failures > 0)
}

func (r *reviews) remember(k key, a answer) {
	if a.review.Refusal == "" {
		r.refused.remove(k)
		r.accepted.put(k, a)
		return
	}
	r.accepted.remove(k)
	r.refused.put(k, a)
}
