//go:build bench

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/live"
)

// Everything that is waited for by asking is asked for this often, until probeTimeout ends.
const (
	askPause     = time.Millisecond
	probeTimeout = time.Minute
)

// prober asks over connections that stay open.
type prober struct{ client *http.Client }

func newProber() *prober {
	return &prober{&http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
}

// reply is an answer, or the lack of one.
type reply struct {
	status int
	live.Answer
	err error
}

func (r reply) String() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.status == http.StatusOK:
		return "200 from " + r.Pod
	default:
		return fmt.Sprint(r.status)
	}
}

func (a *prober) ask(ctx context.Context, address, host string) reply {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", http.NoBody)
	if err != nil {
		return reply{err: err}
	}
	request.Host = host
	response, err := a.client.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{err: err}
	}
	r := reply{status: response.StatusCode}
	if r.status == http.StatusOK {
		r.err = r.Read(body)
	}
	return r
}

// expectation is a change that shows in the answers for a host: what they are before and after it.
type expectation struct {
	address, host string
	before, after func(reply) bool
}

func served(r reply) bool  { return r.err == nil && r.status == http.StatusOK }
func unknown(r reply) bool { return r.err == nil && r.status == http.StatusNotFound }

func servedBy(pod string) func(reply) bool {
	return func(r reply) bool { return served(r) && r.Pod == pod }
}

// appears and disappears are the changes of a route that is created and deleted.
func appears(address, host string) expectation { return expectation{address, host, unknown, served} }

func disappears(address, host string) expectation { return expectation{address, host, served, unknown} }

// until asks until the change shows.
func (a *prober) until(ctx context.Context, e expectation, p *figures.Probe) error {
	return a.untilEvery(ctx, askPause, e, p)
}

// untilEvery asks until the change shows. What is neither the answer of before nor that of after is wrong.
func (a *prober) untilEvery(ctx context.Context, pause time.Duration, e expectation, p *figures.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for {
		asked := time.Now()
		r := a.ask(ctx, e.address, e.host)
		p.Longest = max(p.Longest, time.Since(asked))
		if ctx.Err() != nil {
			return fmt.Errorf("%s does not answer as it should within %s", e.host, probeTimeout)
		}
		p.Requests++
		switch {
		case e.after(r):
			return nil
		case !e.before(r):
			if p.Wrong == nil {
				p.Wrong = map[string]int{}
			}
			p.Wrong[r.String()]++
		}
		time.Sleep(pause)
	}
}

// measure makes a change and says how long it took from then until it showed. The asking begins with the change, not after it.
func (a *prober) measure(t *testing.T, e expectation, p *figures.Probe, change func() error) time.Duration {
	t.Helper()
	start := time.Now()
	p.Longest = 0
	made := make(chan error, 1)
	go func() { made <- change() }()
	err := a.until(t.Context(), e, p)
	took := time.Since(start)
	if changeErr := <-made; changeErr != nil {
		err = changeErr
	}
	if err != nil {
		t.Fatal(err)
	}
	return took
}
