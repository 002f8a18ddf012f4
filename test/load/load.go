package load

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatewright/gatewright/test/clock"
)

// Plan bounds a run: it ends at MaxDuration even when it is not stopped, and never has more than Workers requests under way.
type Plan struct {
	URL  string
	Host string
	// Hosts are asked in turn instead of Host, when there are any.
	Hosts []string
	// Fresh opens a connection for each request. With an https URL that is a handshake each, in which the host is named; who answers must
	// have a certificate for it.
	Fresh bool
	// HTTP2 speaks HTTP/2 without TLS, as a gRPC client would.
	HTTP2 bool
	// Once posts a body that cannot be sent again: Go's client then never tries a request twice, not even one that a closed connection
	// has swallowed.
	Once bool
	// Rate is how many requests are sent in a second.
	Rate int
	// Workers is how many requests can be under way; a tick that finds none free is counted as a failure, so that a stall is seen.
	Workers int
	// Timeout is how long an answer may take, without the time in which the host kept the machine's cores.
	Timeout     time.Duration
	MaxDuration time.Duration
	// Dial opens connections of http URLs, in the usual way if it is nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Result is what became of all requests.
type Result struct {
	Sent int
	// Failures counts the failed requests by reason.
	Failures map[string]int
	// Slowest is the longest time until an answer.
	Slowest time.Duration
	// First and Last are when the first and the last of the failed requests ended, from the start.
	First, Last time.Duration
	// LastSent is when the last of the failed requests was sent, from the start.
	LastSent time.Duration
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
	if len(r.Failures) > 0 {
		fmt.Fprintf(&b, ", failures from %s to %s", r.First.Round(time.Millisecond), r.Last.Round(time.Millisecond))
	}
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
	tally  *tally
}

// Start begins to send.
func Start(ctx context.Context, plan Plan) *Run {
	ctx, cancel := context.WithTimeout(ctx, plan.MaxDuration)
	r := &Run{
		plan: plan,
		client: &http.Client{
			Transport: transport(plan),
			// An answer is taken as it is.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		cancel: cancel,
		done:   make(chan struct{}),
		tally:  newTally(),
	}
	go r.loop(ctx)
	return r
}

// hostKey is where the context of a connection has the host that it is for.
type hostKey struct{}

func transport(plan Plan) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!plan.HTTP2)
	protocols.SetUnencryptedHTTP2(plan.HTTP2)
	return &http.Transport{
		Protocols: protocols, DialContext: plan.Dial,
		// As clients do: HTTP/1.1 has no word by which a server could tell that a connection without a request is going to end.
		IdleConnTimeout:     5 * time.Second,
		MaxIdleConnsPerHost: plan.Workers, DisableKeepAlives: plan.Fresh,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _ := ctx.Value(hostKey{}).(string)
			dialer := &tls.Dialer{Config: &tls.Config{
				ServerName: host, InsecureSkipVerify: true, //nolint:gosec // what matters is that the certificate is the host's, see below
				VerifyConnection: func(state tls.ConnectionState) error { return state.PeerCertificates[0].VerifyHostname(host) },
			}}
			return dialer.DialContext(ctx, network, address)
		},
	}
}

// Done is closed when nothing is sent any more and nothing is under way.
func (r *Run) Done() <-chan struct{} { return r.done }

// Sent is how many requests have ended so far.
func (r *Run) Sent() int {
	r.tally.mu.Lock()
	defer r.tally.mu.Unlock()
	return r.tally.result.Sent
}

// Stop ends the sending, waits for the requests under way and returns what happened.
func (r *Run) Stop() Result {
	r.cancel()
	<-r.done
	r.client.CloseIdleConnections()
	return r.tally.result
}

func (r *Run) loop(ctx context.Context) {
	defer close(r.done)
	var workers sync.WaitGroup
	defer workers.Wait()
	free := make(chan struct{}, r.plan.Workers)
	tick := time.NewTicker(time.Second / time.Duration(r.plan.Rate))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		host := r.plan.Host
		if len(r.plan.Hosts) > 0 {
			host = r.plan.Hosts[n%len(r.plan.Hosts)]
		}
		select {
		case free <- struct{}{}:
			workers.Go(func() {
				defer func() { <-free }()
				r.send(host)
			})
		default:
			r.tally.record("not sent: all requests that may be under way are waiting", 0)
		}
	}
}

// send is not bound to the run's context: a request under way at the end is answered or times out by itself.
func (r *Run) send(host string) {
	start := clock.Now()
	r.tally.record(r.once(host), clock.Since(start))
}

// once returns why the request failed, or nothing.
func (r *Run) once(host string) string {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if r.plan.Once {
		method, body = http.MethodPost, io.LimitReader(strings.NewReader("once"), 4)
	}
	ctx, cancel := clock.WithTimeout(context.WithValue(context.Background(), hostKey{}, host), r.plan.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.plan.URL, body)
	if err != nil {
		return err.Error()
	}
	request.Host = host
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
