package identity

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/peer"
)

// lane is where tokens wait for their review. Those whose signature was checked have one of their own, so that tokens that anybody can make
// do not hold them up.
type lane struct {
	// slots are for the reviews under way.
	slots chan struct{}
	// limit is how many tokens may wait or be under way, and limitOfSource how many of them from one address.
	limit, limitOfSource int

	// The rest belongs to reviews.
	count    int
	bySource map[string]int
	// failures is how many reviews in a row had no answer.
	failures int
}

func newLane(limit, limitOfSource int) *lane {
	return &lane{slots: make(chan struct{}, maxReviews), limit: limit, limitOfSource: limitOfSource, bySource: map[string]int{}}
}

// enter takes a place, and says whether there was one.
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

// patience is how long a review is waited for.
func (l *lane) patience() time.Duration {
	if l.failures >= failuresInARow {
		return failingTimeout
	}
	return reviewTimeout
}

// review waits for a slot and then for the answer. It says whether there was a slot.
func (l *lane) review(ctx context.Context, patience time.Duration, ask func(context.Context) (Review, error)) (Review, bool, error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-waiting.Done():
		return Review{}, false, fmt.Errorf("too many reviews are under way: %w", waiting.Err())
	}
	ctx, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	review, err := ask(ctx)
	return review, true, err
}

// sourceOf is the address that a call comes from, without the port.
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
