package drain_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/internal/drain"
)

// proxy plays an Envoy: what it says depends on the time since it began to drain.
type proxy struct {
	began, askedRest time.Time
	drained          bool
	connections      func(since time.Duration) (drain.Connections, error)
	refuses          error
}

func (p *proxy) Drain(context.Context) error {
	p.drained, p.began = true, time.Now()
	return p.refuses
}

func (p *proxy) DrainRest(context.Context) error {
	p.askedRest = time.Now()
	return errors.New("no such file")
}

func (p *proxy) Connections(context.Context) (drain.Connections, error) {
	return p.connections(time.Since(p.began))
}

var plan = drain.Plan{Quiet: 5 * time.Second, Spread: 60 * time.Second, Timeout: 90 * time.Second}

var errDown = errors.New("connection refused")

// episodes are what can be seen of a proxy, and what should follow.
var episodes = []struct {
	name        string
	connections func(since time.Duration) (drain.Connections, error)
	// from and to are when it returns; rest is when all connections are asked to close, never if it is zero.
	from, to, rest time.Duration
	fails          bool
}{
	{
		"a proxy without clients ends when it has been quiet",
		func(time.Duration) (drain.Connections, error) { return drain.Connections{Total: 7}, nil },
		5 * time.Second, 7 * time.Second, 0, false,
	},
	{
		"as long as connections come, it stays",
		func(since time.Duration) (drain.Connections, error) {
			return drain.Connections{Total: int(min(since, 20*time.Second) / time.Second)}, nil
		},
		25 * time.Second, 27 * time.Second, 0, false,
	},
	{
		"open connections are waited for, and when they are few all asked to close once it is quiet",
		func(since time.Duration) (drain.Connections, error) {
			if since < 30*time.Second {
				return drain.Connections{Active: 1}, nil
			}
			return drain.Connections{}, nil
		},
		30 * time.Second, 31 * time.Second, 5 * time.Second, false,
	},
	{
		"many connections are asked over the spread, and the rest of them after it",
		func(since time.Duration) (drain.Connections, error) {
			if since < 70*time.Second {
				return drain.Connections{Active: 1000}, nil
			}
			return drain.Connections{}, nil
		},
		70 * time.Second, 71 * time.Second, 60 * time.Second, false,
	},
	{
		"when it is never quiet, all are asked after the spread, and it ends at the time limit",
		func(since time.Duration) (drain.Connections, error) {
			return drain.Connections{Active: 1, Total: int(since / time.Second)}, nil
		},
		90 * time.Second, 91 * time.Second, 60 * time.Second, false,
	},
	{
		"what does not answer for a moment is waited for",
		func(since time.Duration) (drain.Connections, error) {
			if since > time.Second && since < 4*time.Second {
				return drain.Connections{}, errDown
			}
			return drain.Connections{}, nil
		},
		5 * time.Second, 7 * time.Second, 0, false,
	},
	{
		"what does not answer any more is not waited for",
		func(time.Duration) (drain.Connections, error) { return drain.Connections{}, errDown },
		5 * time.Second, 6 * time.Second, 0, true,
	},
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, test := range episodes {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &proxy{connections: test.connections}
				began := time.Now()
				err := drain.Run(t.Context(), p, plan, slog.New(slog.DiscardHandler))
				took := time.Since(began)
				if !p.drained || (err != nil) != test.fails {
					t.Errorf("drained: %t, error: %v", p.drained, err)
				}
				if took < test.from || took > test.to {
					t.Errorf("it took %s, want %s to %s", took, test.from, test.to)
				}
				asked := time.Duration(0)
				if !p.askedRest.IsZero() {
					asked = p.askedRest.Sub(began)
				}
				if asked.Round(time.Second) != test.rest {
					t.Errorf("all connections were asked to close after %s, want %s", asked, test.rest)
				}
			})
		})
	}
	t.Run("what cannot be asked to drain is said", func(t *testing.T) {
		t.Parallel()
		if err := drain.Run(t.Context(), &proxy{refuses: errDown}, plan, slog.New(slog.DiscardHandler)); !errors.Is(err, errDown) {
			t.Errorf("got %v", err)
		}
	})
}
