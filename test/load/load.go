package load

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Plan bounds a run: it ends at MaxDuration even when nobody stops it, and never has more than Workers requests under way.
type Plan struct {
	URL  string
	Host string
	// Rate is how many requests are sent in a second.
	Rate int
	// Workers is how many requests can be under way; a tick that finds none free is counted as a failure, so that a stall is seen.
	Workers     int
	Timeout     time.Duration
	MaxDuration time.Duration
}

// Result is what became of all requests.
type Result struct {
	Sent int
	// Failures counts the failed requests by reason.
	Failures map[string]int
	// Slowest is the longest time until an answer.
	Slowest time.Duration
}

// Failed is the number of requests that were not answered with 200.
func (r Result) Failed() int {
	n := 0
	for _, count := range r.Failures {
		n += count
	}
	return n
}

func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests, %d failed, slowest %s", r.Sent, r.Failed(), r.Slowest.Round(time.Millisecond))
	for _, reason := range slices.Sorted(maps.Keys(r.Failures)) {
		fmt.Fprintf(&b, "\n  %d × %s", r.Failures[reason], reason)
	}
	return b.String()
}

// Run is load under way.
type Run struct {
	plan   Plan
	client *http.Client
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	result Result
}

// Start begins to send.
func Start(ctx context.Context, plan Plan) *Run {
	ctx, cancel := context.WithTimeout(ctx, plan.MaxDuration)
	r := &Run{
		plan: plan,
		client: &http.Client{
			Timeout:   plan.Timeout,
			Transport: &http.Transport{MaxIdleConnsPerHost: plan.Workers},
			// An answer is taken as it is.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		cancel: cancel,
		done:   make(chan struct{}),
		result: Result{Failures: map[string]int{}},
	}
	go r.loop(ctx)
	return r
}

// Stop ends the sending, waits for the requests under way and returns what happened.
func (r *Run) Stop() Result {
	r.cancel()
	<-r.done
	r.client.CloseIdleConnections()
	return r.result
}

func (r *Run) loop(ctx context.Context) {
	defer close(r.done)
	var workers sync.WaitGroup
	defer workers.Wait()
	free := make(chan struct{}, r.plan.Workers)
	tick := time.NewTicker(time.Second / time.Duration(r.plan.Rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case free <- struct{}{}:
			workers.Go(func() {
				defer func() { <-free }()
				r.send()
			})
		default:
			r.record("not sent: all requests that may be under way are waiting", 0)
		}
	}
}

// send is not bound to the run's context: a request under way at the end is answered or times out by itself.
func (r *Run) send() {
	start := time.Now()
	r.record(r.once(), time.Since(start))
}

// once returns why the request failed, or nothing.
func (r *Run) once() string {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, r.plan.URL, http.NoBody)
	if err != nil {
		return err.Error()
	}
	request.Host = r.plan.Host
	response, err := r.client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "body: " + err.Error()
	}
	if response.StatusCode != http.StatusOK {
		return "status " + response.Status
	}
	return ""
}

func (r *Run) record(failure string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Sent++
	r.result.Slowest = max(r.result.Slowest, took)
	if failure != "" {
		r.result.Failures[failure]++
	}
}
