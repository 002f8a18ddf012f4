package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Proxy is what is to end.
type Proxy interface {
	// Drain makes it tell every connection that carries a request to go, one after the other.
	Drain(ctx context.Context) error
	// DrainRest makes it tell all others too, at once: those that carry none, too, if their protocol has a word for it.
	DrainRest(ctx context.Context) error
	// Connections counts those that clients have opened.
	Connections(ctx context.Context) (Connections, error)
}

// Connections are those of a proxy's clients.
type Connections struct {
	// Active are open, Total have been opened since the proxy started.
	Active, Total int
}

// Plan says how long things may take.
type Plan struct {
	// Quiet is the time without a new connection after which no client has the proxy in its list.
	Quiet time.Duration
	// Spread is the time over which Envoy tells connections to go (its --drain-time-s).
	Spread time.Duration
	// Timeout is the end of it, whatever is still open.
	Timeout time.Duration
}

const (
	// pause is how often the connections are counted.
	pause = 500 * time.Millisecond
	// few is how many connections may be asked to close at once: what their clients cost that come back together is nothing.
	few = 100
)

var errGone = errors.New("the proxy does not answer any more")

// Run returns when the proxy has nothing left to do: no connection is open, and none has come for a while. New ones are taken all the time,
// for Kubernetes sends them here until all nodes know, and without another proxy until one exists.
func Run(ctx context.Context, proxy Proxy, plan Plan, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, plan.Timeout)
	defer cancel()
	began := time.Now()
	if err := proxy.Drain(ctx); err != nil {
		return fmt.Errorf("begin to drain: %w", err)
	}
	log.Info("the proxy drains", "timeout", plan.Timeout.String())
	w := watch{proxy: proxy, plan: plan, log: log, began: began, moved: began, heard: began}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		done, err := w.poll(ctx)
		switch {
		case err != nil:
			return err
		case done:
			log.Info("the proxy has drained", "seconds", time.Since(began).Seconds(), "connections", w.last.Total)
			return nil
		}
		select {
		case <-ctx.Done():
			log.Warn("the proxy ends with connections open", "open", w.last.Active, "seconds", time.Since(began).Seconds())
			return nil
		case <-tick.C:
		}
	}
}

// watch is what was seen of a proxy that drains.
type watch struct {
	proxy Proxy
	plan  Plan
	log   *slog.Logger
	began time.Time
	last  Connections
	// moved is when the last connection came, heard when the proxy answered last.
	moved, heard time.Time
	// closing reports that all connections were asked to close.
	closing bool
}

// poll reports whether the proxy is done. One that does not answer for a while is gone, or cannot be helped.
func (w *watch) poll(ctx context.Context) (bool, error) {
	now := time.Now()
	seen, err := w.proxy.Connections(ctx)
	switch {
	case err == nil:
		w.heard = now
	case now.Sub(w.heard) >= w.plan.Quiet && ctx.Err() == nil:
		return false, fmt.Errorf("%w: %w", errGone, err)
	default:
		return false, nil
	}
	if seen.Total != w.last.Total {
		w.moved = now
	}
	w.last = seen
	quiet := now.Sub(w.moved) >= w.plan.Quiet
	if quiet && seen.Active == 0 {
		return true, nil
	}
	if (quiet && seen.Active <= few || now.Sub(w.began) >= w.plan.Spread) && !w.closing {
		w.closing = true
		if err := w.proxy.DrainRest(ctx); err != nil {
			w.log.Warn("idle connections stay until the proxy ends", "error", err)
		}
	}
	return false, nil
}
