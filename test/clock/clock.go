package clock

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// settle is how long the kernel may take to count what was stolen: it does so at the next tick of a core.
	settle = 20 * time.Millisecond
	// short is what is not worth to wait that long for.
	short = 5 * settle
	// jiffy is the unit of /proc/stat.
	jiffy = 10 * time.Millisecond
)

// Instant is a moment to measure from.
type Instant struct {
	wall time.Time
	// stolen is for how long each core has been stolen since the machine started.
	stolen []time.Duration
}

// Now is this moment.
func Now() Instant { return Instant{wall: time.Now(), stolen: stolen()} }

// Since is how long it has been since then, without the time in which the core was stolen that was stolen the longest: what is measured may
// have run there.
func Since(start Instant) time.Duration {
	passed := time.Since(start.wall)
	if passed < short {
		return passed
	}
	time.Sleep(settle)
	return max(passed-slices.Max(start.lost()), 0)
}

// Wall is how long it has been since then.
func Wall(start Instant) time.Duration { return time.Since(start.wall) }

// Stolen is for how long the machine's cores were stolen since then, on average.
func Stolen(start Instant) time.Duration {
	lost := start.lost()
	total := time.Duration(0)
	for _, one := range lost {
		total += one
	}
	return total / time.Duration(len(lost))
}

// WasStolen says whether any core was stolen since then.
func WasStolen(start Instant) bool {
	time.Sleep(settle)
	return slices.Max(start.lost()) > 0
}

// lost is for how long each core was stolen since then. There is at least one.
func (i Instant) lost() []time.Duration {
	now := stolen()
	lost := make([]time.Duration, max(len(now), 1))
	for core := range min(len(now), len(i.stolen)) {
		lost[core] = now[core] - i.stolen[core]
	}
	return lost
}

// Share is the part of the time since then in which the machine's cores were stolen, on average.
func Share(start Instant) float64 { return float64(Stolen(start)) / float64(max(Wall(start), jiffy)) }

// WithTimeout is as context.WithTimeout, but the time in which the cores were stolen does not count.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	start := Now()
	var check func()
	check = func() {
		if left := limit - Since(start); left > 0 {
			timer := time.AfterFunc(left, check)
			context.AfterFunc(ctx, func() { timer.Stop() })
			return
		}
		cancel(fmt.Errorf("no end after %s", limit))
	}
	timer := time.AfterFunc(limit, check)
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// Transport bounds how long a request may take until its response has been read, without the time in which the cores were stolen.
type Transport struct {
	Base  http.RoundTripper
	Limit time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := WithTimeout(request.Context(), t.Limit)
	response, err := t.Base.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err //nolint:wrapcheck // it is the error of the transport that this one stands for
	}
	response.Body = &body{response.Body, cancel}
	return response, nil
}

// CloseIdleConnections is what [http.Client] calls.
func (t Transport) CloseIdleConnections() {
	if base, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// body ends the context of its request when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements [io.Closer].
func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close() //nolint:wrapcheck // as above
}

// stolen is how long each core has been stolen since the machine started. There is nothing where the kernel does not say.
func stolen() []time.Duration {
	statistics, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	return stolenOf(string(statistics))
}

// stolenOf reads the lines of /proc/stat about one core each. The first line is about all together.
func stolenOf(statistics string) []time.Duration {
	var cores []time.Duration
	for line := range strings.Lines(statistics) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "cpu" || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		cores = append(cores, stolenOfCore(fields))
	}
	return cores
}

func stolenOfCore(fields []string) time.Duration {
	const position = 8
	if len(fields) <= position {
		return 0
	}
	count, err := strconv.ParseInt(fields[position], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(count) * jiffy
}
