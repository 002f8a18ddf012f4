package peers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	deltav3 "github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/xds"
)

// replica serves a board.
type replica struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	board *peers.Board
}

func (r replica) DeltaAggregatedResources(s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return deltav3.NewServer(s.Context(), r.board, nil).DeltaStreamHandler(s, resourcev3.AnyType)
}

// journal writes down what a follower tells.
type journal chan string

func (j journal) PeerHolds(_ string, p xds.Identity, _ time.Time, state string, left bool) {
	verb := "holds"
	if left {
		verb = "leaves"
	}
	j <- fmt.Sprintf("%s %s %s %q", p.Gateway, p.Pod, verb, state)
}

func (j journal) PeerForgets(_ string, p xds.Identity) {
	j <- fmt.Sprintf("%s %s gone", p.Gateway, p.Pod)
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
	log := slog.New(slog.DiscardHandler)
	board := peers.NewBoard(log)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, replica{board: board})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	j := make(journal, 100)
	wanted := make(chan bool, 1)
	f := peers.NewFollower(peers.Options{
		Dial: func(address string) (*grpc.ClientConn, error) {
			return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		},
		Listener: j, Log: log, Node: "me",
		Wants: func(string, xds.Refusal) bool {
			select {
			case <-wanted:
				return true
			default:
				return false
			}
		},
		Refused: func(p xds.Identity, r xds.Refusal) { j <- fmt.Sprintf("%s refused %+v", p.Pod, r) },
		Offered: func(key, refused string, instead []byte) { j <- fmt.Sprintf("%s of %s: %s", key, refused, instead) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go board.Run(ctx)
	go f.Run(ctx)
	f.Follow([]string{listener.Addr().String()})

	a, b := xds.Identity{Gateway: "shop/web", Pod: "a"}, xds.Identity{Gateway: "shop/web", Pod: "b"}
	board.Connected(a)
	j.expect(t, `shop/web a holds ""`)
	board.Holds(a, "1")
	j.expect(t, `shop/web a holds "1"`)
	board.Leaves(a)
	j.expect(t, `shop/web a leaves "1"`)
	board.Offer("HTTPRoute/shop/r@shop/web", "v", []byte("instead"))
	board.Offer("HTTPRoute/shop/r@shop/web", "v", []byte("instead"))
	j.expect(t, "HTTPRoute/shop/r@shop/web of v: instead")
	board.Withdraw("HTTPRoute/shop/r@shop/web")
	j.expect(t, "HTTPRoute/shop/r@shop/web of : ")
	board.Connected(b)
	j.expect(t, `shop/web b holds ""`)
	refusal := xds.Refusal{Type: xds.VirtualHost, Table: "t", Name: "*", Routes: []string{"HTTPRoute/shop/r/0/0"}, Version: "v", Reason: "no", Together: true}
	board.Refused(b, refusal)
	j.expect(t, `shop/web b holds ""`)
	wanted <- true
	j.expect(t, fmt.Sprintf("b refused %+v", refusal))
	board.Disconnected(a)
	j.expect(t, "shop/web a gone")
	server.Stop()
	j.expect(t, "left")
}
