package identity

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// freshFor is how long an accepted token is not reviewed again. One that was withdrawn, because its pod is gone, opens streams for this long at most;
	// a proxy that reconnects all the time costs one review in this time.
	freshFor = time.Minute
	// refusedFor is how long a refused token is not reviewed again. It is short: a proxy may come before the API server has seen its pod.
	refusedFor = 2 * time.Second
	// maxAccepted and maxRefused bound what is remembered: the tokens of far more proxies than a control plane serves, and of no more callers than that.
	maxAccepted = 8192
	maxRefused  = 1024
	// maxReviews is how many can be under way, so that a flood of callers is not passed on to the API server.
	maxReviews = 16
	// reviewTimeout is how long an answer is waited for, and failingTimeout for as long as none has come.
	reviewTimeout  = 3 * time.Second
	failingTimeout = time.Second
	// knownPatience is how long somebody who is known waits for an API server that may not answer at all.
	knownPatience = 500 * time.Millisecond
)

// key stands for a token, which is kept nowhere.
type key [sha256.Size]byte

// reviews remembers what became of tokens, never beyond their own end. An answer that is no longer fresh is used while the API server can not be asked.
type reviews struct {
	reviewer Reviewer
	audience string
	now      func() time.Time
	log      *slog.Logger
	slots    chan struct{}

	mu       sync.Mutex
	accepted *recent
	refused  *recent
	pending  map[key]*pending
	failing  bool
}

// pending is a review under way, for everybody who waits for it.
type pending struct {
	done   chan struct{}
	review Review
	err    error
}

func newReviews(config Config) *reviews {
	return &reviews{
		reviewer: config.Reviewer, audience: config.Audience, now: config.Now, log: config.Log,
		slots:    make(chan struct{}, maxReviews),
		accepted: newRecent(maxAccepted), refused: newRecent(maxRefused), pending: map[key]*pending{},
	}
}

// of gives the review of a token that ends at a time. It waits no longer than the caller does.
func (r *reviews) of(ctx context.Context, token string, expires time.Time) (Review, error) {
	k := key(sha256.Sum256([]byte(token)))
	now := r.now()
	r.mu.Lock()
	known, ok := r.known(k, now)
	if ok && now.Sub(known.at) < freshFor {
		r.mu.Unlock()
		return known.review, nil
	}
	p := r.pending[k]
	if p == nil {
		p = &pending{done: make(chan struct{})}
		r.pending[k] = p
		// Others may wait for it too, so it does not end with this caller.
		timeout := reviewTimeout
		if r.failing {
			timeout = failingTimeout
		}
		go r.ask(context.WithoutCancel(ctx), timeout, k, p, token, expires)
	}
	r.mu.Unlock()
	if !ok {
		return p.wait(ctx)
	}
	patient, cancel := context.WithTimeout(ctx, knownPatience)
	defer cancel()
	if review, err := p.wait(patient); err == nil {
		return review, nil
	}
	return known.review, nil
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

func (r *reviews) ask(ctx context.Context, timeout time.Duration, k key, p *pending, token string, expires time.Time) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		p.review, p.err = r.reviewer.Review(ctx, token, r.audience)
		<-r.slots
	case <-ctx.Done():
		p.err = fmt.Errorf("too many reviews are under way: %w", ctx.Err())
	}
	r.mu.Lock()
	delete(r.pending, k)
	if p.err == nil {
		r.remember(k, answer{review: p.review, at: r.now(), expires: expires})
	}
	changed := r.failing != (p.err != nil)
	r.failing = p.err != nil
	r.mu.Unlock()
	close(p.done)
	switch {
	case changed && p.err != nil:
		r.log.Error("tokens of proxies can not be reviewed, only known ones are accepted", "error", p.err)
	case changed:
		r.log.Info("tokens of proxies are reviewed again")
	}
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
