package peers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	deltav3 "github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/xds"
)

// replica serves a Server.
type replica struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	server *peers.Server
}

func (r replica) DeltaAggregatedResources(s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return deltav3.NewServer(s.Context(), r.server, nil).DeltaStreamHandler(s, resourcev3.AnyType)
}

// journal writes down what a client reports.
type journal chan string

func (j journal) PeerHolds(_ string, p xds.Identity, _ time.Time, state string, left bool) {
	verb := "holds"
	if left {
		verb = "leaves"
	}
	j <- fmt.Sprintf("%s %s %s %q", p.Group, p.Pod, verb, state)
}

func (j journal) PeerForgets(_ string, p xds.Identity) {
	j <- fmt.Sprintf("%s %s gone", p.Group, p.Pod)
}
func (j journal) PeerLeft(string) { j <- "left" }

func (j journal) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-j:
			if got != w {
				t.Fatalf("got %q, want %q", got, w)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no %q", w)
		}
	}
}

func TestAReplicaLearnsWhatTheProxiesOfAnotherHoldAndRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		server := peers.NewServer(log)
		listener := bufconn.Listen(64 << 10)
		calls := grpc.NewServer()
		discoveryv3.RegisterAggregatedDiscoveryServiceServer(calls, replica{server: server})
		go func() { _ = calls.Serve(listener) }()
		t.Cleanup(calls.Stop)

		j := make(journal, 100)
		wanted := make(chan bool, 1)
		f := peers.NewClient(peers.Options{
			Dial: func(address string) (*grpc.ClientConn, error) {
				return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
					grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
			},
			Listener: j, Log: log, Node: "me",
			Wants: func(xds.GroupID, xds.NACK) bool {
				select {
				case <-wanted:
					return true
				default:
					return false
				}
			},
			NACKed:  func(p xds.Identity, r xds.NACK) { j <- fmt.Sprintf("%s refused %+v", p.Pod, r) },
			Offered: func(_, key, refused string, instead []byte) { j <- fmt.Sprintf("%s of %s: %s", key, refused, instead) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go server.Run(ctx)
		go f.Run(ctx)
		f.Follow([]string{"peer"})

		group := xds.GroupID{Namespace: "shop", Name: "web"}
		a, b := xds.Identity{Group: group, Pod: "a"}, xds.Identity{Group: group, Pod: "b"}
		server.Connected(a)
		j.expect(t, `shop/web a holds ""`)
		server.Holds(a, "1")
		j.expect(t, `shop/web a holds "1"`)
		server.Leaves(a)
		j.expect(t, `shop/web a leaves "1"`)
		server.Offer("HTTPRoute/shop/r@shop/web", "v", []byte("instead"))
		server.Offer("HTTPRoute/shop/r@shop/web", "v", []byte("instead"))
		j.expect(t, "HTTPRoute/shop/r@shop/web of v: instead")
		server.Withdraw("HTTPRoute/shop/r@shop/web")
		j.expect(t, "HTTPRoute/shop/r@shop/web of : ")
		server.Connected(b)
		j.expect(t, `shop/web b holds ""`)
		nack := xds.NACK{
			Type: xds.VirtualHost, Table: "t", Name: "*", Routes: []string{"HTTPRoute/shop/r/0/0"}, Version: "v", Reason: "no", Together: true,
		}
		server.NACKed(b, nack)
		j.expect(t, `shop/web b holds ""`)
		wanted <- true
		j.expect(t, fmt.Sprintf("b refused %+v", nack))
		server.Disconnected(a)
		j.expect(t, "shop/web a gone")
		calls.Stop()
		j.expect(t, "left")
	})
}

// TestAReplicaReadsAllOffersOfAnother has a replica start while another one offers much. All of it comes in one message.
func TestAReplicaReadsAllOffersOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		server := peers.NewServer(log)
		const count, size = 8, 1 << 20
		for i := range count {
			server.Offer(fmt.Sprint(i), "v", make([]byte, size))
		}
		listener := bufconn.Listen(64 << 10)
		calls := grpc.NewServer()
		discoveryv3.RegisterAggregatedDiscoveryServiceServer(calls, replica{server: server})
		go func() { _ = calls.Serve(listener) }()
		t.Cleanup(calls.Stop)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go server.Run(ctx)
		synctest.Wait()

		offered := make(chan int, count)
		c := peers.NewClient(peers.Options{
			Dial: func(address string) (*grpc.ClientConn, error) {
				return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
					grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
			},
			Listener: make(journal, 100), Log: log, Node: "me",
			Wants:   func(xds.GroupID, xds.NACK) bool { return false },
			Offered: func(_, _, _ string, instead []byte) { offered <- len(instead) },
		})
		go c.Run(ctx)
		c.Follow([]string{"peer"})
		for i := range count {
			select {
			case got := <-offered:
				if got != size {
					t.Fatalf("an offer has %d bytes", got)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%d of %d offers have come", i, count)
			}
		}
	})
}
