package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

const (
	// dialTimeout and dialPause bound how long after the API server can be reached again it is.
	dialTimeout = 2 * time.Second
	dialPause   = time.Second
	// dialDeadline is longer than what makes an informer forget how often it failed before (two minutes), so that it never waits for long.
	dialDeadline = 3 * time.Minute
	// A connection on which nothing comes back is closed after these times.
	keepAliveIdle     = 3 * time.Second
	keepAliveInterval = time.Second
	keepAliveCount    = 3
	userTimeout       = keepAliveIdle + keepAliveCount*keepAliveInterval
)

// apiConnection connects to the API server so that an outage is noticed within seconds and is over within seconds of its end. Left to
// itself, a watch whose packets are lost waits for 45 s, and an informer that fails to connect again waits longer each time.
type apiConnection struct {
	log *slog.Logger
	// lost is true during an outage, so that it is logged once.
	lost atomic.Bool
}

// dial connects as soon as that is possible.
func (a *apiConnection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialDeadline)
	defer cancel()
	dialer := &net.Dialer{
		Timeout:         dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount},
		Control:         setUserTimeout,
	}
	for {
		connection, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			if a.lost.CompareAndSwap(true, false) {
				a.log.Info("the API server is reached again")
			}
			return connection, nil
		}
		if ctx.Err() == nil && a.lost.CompareAndSwap(false, true) {
			a.log.Warn("the API server cannot be reached, trying again; proxies are served what was known last", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to the API server: %w", err)
		case <-time.After(dialPause):
		}
	}
}
