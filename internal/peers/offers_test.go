package peers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/xds"
)

// link is the connection from a client to one server. It can be cut.
type link struct {
	server   *peers.Server
	listener atomic.Pointer[bufconn.Listener]
	calls    *grpc.Server
}

// serve accepts streams until they are cut.
func (l *link) serve() {
	listener, calls := bufconn.Listen(64<<10), grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(calls, replica{server: l.server})
	l.listener.Store(listener)
	l.calls = calls
	go func() { _ = calls.Serve(listener) }()
}

func (l *link) dial(address string) (*grpc.ClientConn, error) {
	listener := l.listener.Load()
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
}

// deaf ignores the state of proxies.
type deaf struct{}

func (deaf) PeerHolds(string, xds.Identity, time.Time, string, bool) {}
func (deaf) PeerForgets(string, xds.Identity)                        {}
func (deaf) PeerLeft(string)                                         {}

// followOffers has a client follow a server that offers a and b, and returns what the client reports of offers.
func followOffers(t *testing.T) (*link, *peers.Client, journal) {
	t.Helper()
	log, offers := slog.New(slog.DiscardHandler), make(journal, 100)
	l := &link{server: peers.NewServer(log)}
	c := peers.NewClient(peers.Options{
		Dial: l.dial, Listener: deaf{}, Log: log, Node: "me",
		Wants: func(xds.GroupID, xds.NACK) bool { return false },
		Offered: func(_, key, rejected string, instead []byte) {
			offers <- fmt.Sprintf("%s of %q: %s", key, rejected, instead)
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		l.calls.Stop()
	})
	go l.server.Run(ctx)
	l.server.Offer("a", "v", []byte("instead"))
	synctest.Wait()
	l.serve()
	go c.Run(ctx)
	c.Follow([]string{"peer"})
	offers.expect(t, `a of "v": instead`)
	l.server.Offer("b", "v", []byte("instead"))
	offers.expect(t, `b of "v": instead`)
	return l, c, offers
}

// expectNothing waits, and expects that nothing is reported.
func (j journal) expectNothing(t *testing.T, wait time.Duration) {
	t.Helper()
	time.Sleep(wait)
	synctest.Wait()
	select {
	case got := <-j:
		t.Fatalf("got %q, want nothing", got)
	default:
	}
}

// TestAnOfferThatEndsBetweenTwoStreamsIsWithdrawn has a replica withdraw an offer between two streams.
func TestAnOfferThatEndsBetweenTwoStreamsIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]struct {
		withdrawn []string
		want      []string
	}{
		"one of them": {[]string{"b"}, []string{`a of "v": instead`, `b of "": `}},
		"all of them": {[]string{"a", "b"}, []string{`a of "": `, `b of "": `}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, _, offers := followOffers(t)
				l.calls.Stop()
				for _, key := range left.withdrawn {
					l.server.Withdraw(key)
				}
				synctest.Wait()
				l.serve()
				// The first response of the next stream says it, long before they expire.
				start := time.Now()
				offers.expect(t, left.want...)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("it takes %s", took)
				}
				offers.expectNothing(t, 2*time.Minute)
			})
		})
	}
}

// TestOffersOfAReplicaThatIsGoneAreWithdrawn has a replica go. One that is back soon keeps its offers.
func TestOffersOfAReplicaThatIsGoneAreWithdrawn(t *testing.T) {
	t.Parallel()
	gone := []string{`a of "": `, `b of "": `}
	t.Run("from the replicas to follow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, c, offers := followOffers(t)
			c.Follow(nil)
			offers.expectNothing(t, 59*time.Second)
			offers.expect(t, gone...)
		})
	})
	t.Run("without an answer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, _, offers := followOffers(t)
			l.calls.Stop()
			offers.expectNothing(t, 59*time.Second)
			offers.expect(t, gone...)
			offers.expectNothing(t, 2*time.Minute)
		})
	})
	t.Run("and back soon", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, c, offers := followOffers(t)
			c.Follow(nil)
			offers.expectNothing(t, 5*time.Second)
			c.Follow([]string{"peer"})
			for range gone {
				if got := <-offers; got != `a of "v": instead` && got != `b of "v": instead` {
					t.Fatalf("got %q", got)
				}
			}
			offers.expectNothing(t, 2*time.Minute)
		})
	})
}
