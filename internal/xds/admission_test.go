package xds_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/xds"
)

// expiring is a proof that lasts as long as it says.
type expiring time.Duration

func (e expiring) Authenticate(context.Context, string) (xds.Proof, error) {
	return xds.Proof{Identity: xds.Identity{Group: group, Pod: pod}, Expires: time.Now().Add(time.Duration(e))}, nil
}

func TestAStreamEndsInTheLastFifthOfItsToken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		random float64
		want   time.Duration
	}{
		"at the beginning of that": {1, 48 * time.Minute},
		"at the end of that":       {0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := start(
					t, options{authenticator: expiring(time.Hour), prepare: func(s *xds.Server) { s.Roll(func() float64 { return tt.random }) }},
				)
				p := c.connectWithoutReading(group)
				began := time.Now()
				_, err := p.stream.Recv()
				if after := time.Since(began); status.Code(err) != codes.Unauthenticated || after != tt.want {
					t.Errorf("the stream ended after %s with %v, want %s", after, err, tt.want)
				}
			})
		})
	}
}

// deaf is a proxy that asks, and does not read.
func deaf(t *testing.T, c *control) {
	t.Helper()
	c.cache.Apply([]xds.Change{cluster(t, group, "big", strings.Repeat("x", 4<<20)), secret(t, group, "s1", rand.Text())})
	p := c.connectWithoutReading(group)
	p.subscribe(clusterURL)
	c.wait("gatewright_xds_responses_total cluster", 1)
	// gRPC takes one message whatever was read, and keeps the next one waiting.
	p.subscribe(secretURL, "s1")
	c.wait("gatewright_xds_responses_total secret", 1)
}

func TestAProxyThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	t.Run("when it has held back a response for too long", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{prepare: func(s *xds.Server) { s.Hurry(100 * time.Millisecond) }})
			deaf(t, c)
			c.wait("gatewright_xds_connected_proxies", 0)
		})
	})
	t.Run("when its token is at its end", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{authenticator: expiring(2 * time.Second)})
			deaf(t, c)
			c.wait("gatewright_xds_connected_proxies", 0)
		})
	})
}

func TestAConnectionWithUnreadResponsesIsClosedWithItsStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{cluster(t, group, "big", strings.Repeat("x", 4<<20))})
		p := c.connectWithoutReading(group)
		p.subscribe(clusterURL)
		c.wait("gatewright_xds_responses_total cluster", 1)
		if err := p.stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		c.wait("gatewright_xds_connected_proxies", 0)
		p.refused(t)
	})
}

// refused says that the stream ends without having been read to its end.
func (p *proxy) refused(t *testing.T) {
	t.Helper()
	time.Sleep(time.Second) // the connection ends a little later than the stream
	for {
		if _, err := p.stream.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				t.Error("the connection stayed")
			}
			return
		}
	}
}

func TestConnectionsWithoutAStreamAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := c.connect(group)
		p.subscribe(clusterURL)
		p.expect(clusterURL, nil, nil)
		alive := func(connection net.Conn) bool {
			_ = connection.SetDeadline(time.Now().Add(timeout))
			return tls.Client(
				connection, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: c.ca.pool, ServerName: "localhost", NextProtos: []string{"h2"}},
			).Handshake() == nil
		}
		var connections []net.Conn
		for range xds.MaxUnauthenticated + 1 {
			connection, err := c.listener.Dial()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = connection.Close() })
			connections = append(connections, connection)
		}
		if first, last := alive(connections[0]), alive(connections[xds.MaxUnauthenticated]); !first || last {
			t.Errorf("the first connection is open: %v, the one too many: %v", first, last)
		}
		_ = connections[1].Close()
		for deadline := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
			connection, err := c.listener.Dial()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = connection.Close() })
			if alive(connection) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("a connection that is closed is still counted")
			}
		}
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
		p.expect(clusterURL, []string{"c1"}, nil)
	})
}

// TestTokensCannotBeTriedByTheThousand gives up each call at once, so that its stream is free for the next one.
func TestTokensCannotBeTriedByTheThousand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tried atomic.Int64
		c := start(t, options{authenticator: counting{&tried}})
		client := discoveryv3.NewAggregatedDiscoveryServiceClient(c.dial("forged"))
		const calls, length = 10 * xds.MaxStreams, 2 * xds.RejectionDelay
		began := time.Now()
		for range calls {
			ctx, giveUp := context.WithTimeout(t.Context(), time.Second)
			if stream, err := client.DeltaAggregatedResources(ctx); err != nil {
				t.Error(err)
			} else {
				_ = stream.CloseSend()
			}
			time.Sleep(time.Millisecond)
			giveUp()
		}
		time.Sleep(length - time.Since(began))
		if got, most := tried.Load(), int64(3*xds.MaxStreams); got < 1 || got > most {
			t.Errorf("%d tokens were tried on one connection within %s, want 1 to %d", got, length, most)
		}
		// While a call waits for its turn, gRPC holds a lock that the shutdown needs. The time of a bubble does not pass meanwhile.
		time.Sleep(calls * xds.RejectionDelay)
	})
}

// counting accepts no token.
type counting struct{ tried *atomic.Int64 }

func (c counting) Authenticate(context.Context, string) (xds.Proof, error) {
	c.tried.Add(1)
	return xds.Proof{}, status.Error(codes.Unauthenticated, "not a proxy")
}
