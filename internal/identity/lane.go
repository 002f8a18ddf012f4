package identity

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/peer"
)

// lane is a queue of tokens that wait for their review. Tokens with a checked signature have their own, so that forged tokens do not delay
// them.
type lane struct {
	// slots limits the reviews in progress.
	slots chan struct{}
	// limit is the number of tokens that may wait or be under review, and limitOfSource that from one address.
	limit, limitOfSource int

	// The rest belongs to reviews.
	count    int
	bySource map[string]int
	// failures is the number of reviews in a row without an answer.
	failures int
}

func newLane(limit, limitOfSource int) *lane {
	return &lane{slots: make(chan struct{}, maxReviews), limit: limit, limitOfSource: limitOfSource, bySource: map[string]int{}}
}

// enter takes a place, and reports whether there was one.
func (l *lane) enter(source string) bool {
	if l.count >= l.limit || l.bySource[source] >= l.limitOfSource {
		return false
	}
	l.count++
	l.bySource[source]++
	return true
}

func (l *lane) leave(source string) {
	l.count--
	if l.bySource[source]--; l.bySource[source] == 0 {
		delete(l.bySource, source)
	}
}

// timeout returns the timeout of a review.
func (l *lane) timeout() time.Duration {
	if l.failures >= failuresInARow {
		return failingTimeout
	}
	return reviewTimeout
}

// review waits for a slot and then for the answer. It reports whether there was a slot.
func (l *lane) review(ctx context.Context, timeout time.Duration, ask func(context.Context) (Review, error)) (Review, bool, error) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-waiting.Done():
		return Review{}, false, fmt.Errorf("too many reviews are under way: %w", waiting.Err())
	}
	ctx, cancel = context.WithTimeout(ctx, timeout)
	defer cancel()
	review, err := ask(ctx)
	return review, true, err
}

// sourceOf returns the address of the caller, without the port.
func sourceOf(ctx context.Context) string {
	caller, ok := peer.FromContext(ctx)
	if !ok || caller.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(caller.Addr.String())
	if err != nil {
		return caller.Addr.String()
	}
	return host
}
