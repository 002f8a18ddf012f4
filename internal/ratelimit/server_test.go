package ratelimit_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/genproto/googleapis/rpc/status"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/ratelimit"
	"github.com/gatewright/gatewright/internal/xds"
)

// journal has what an observer was told.
type journal struct {
	xds.Observer
	lines []string
}

func (j *journal) Connected(p xds.Identity)    { j.lines = append(j.lines, "connected "+p.Pod) }
func (j *journal) Disconnected(p xds.Identity) { j.lines = append(j.lines, "disconnected "+p.Pod) }
func (j *journal) Leaves(p xds.Identity)       { j.lines = append(j.lines, "leaves "+p.Pod) }
func (j *journal) Holds(p xds.Identity, state string) {
	j.lines = append(j.lines, fmt.Sprintf("%s holds %.4s", p.Pod, state))
}

// stream is a stream of a pod whose requests and responses pass channels.
type stream struct {
	ratelimit.Stream
	requests  chan *discoveryv3.DiscoveryRequest
	responses chan *discoveryv3.DiscoveryResponse
}

func (s stream) Recv() (*discoveryv3.DiscoveryRequest, error) {
	if r, ok := <-s.requests; ok {
		return r, nil
	}
	return nil, io.EOF
}

func (s stream) Send(r *discoveryv3.DiscoveryResponse) error {
	s.responses <- r
	return nil
}

func request(nonce string) *discoveryv3.DiscoveryRequest {
	return &discoveryv3.DiscoveryRequest{TypeUrl: resourcev3.RateLimitConfigType, ResponseNonce: nonce}
}

func TestServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &journal{}
		server := ratelimit.NewServer(slog.New(slog.DiscardHandler), seen)
		s := stream{requests: make(chan *discoveryv3.DiscoveryRequest), responses: make(chan *discoveryv3.DiscoveryResponse, 8)}
		ended := make(chan error, 1)
		go func() {
			ended <- server.Serve(context.Background(), s, xds.Identity{Group: xds.GroupID{Name: "g"}, Pod: "p"})
		}()
		expect := func(when string, lines ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(seen.lines, lines) {
				t.Errorf("%s the observer was told %q, want %q", when, seen.lines, lines)
			}
			seen.lines = nil
		}
		synctest.Wait()
		if len(s.responses) > 0 {
			t.Error("there is a response before the first request")
		}
		// The first request may have the nonce of an earlier stream.
		s.requests <- request("7")
		first := <-s.responses
		expect("at first", "connected p", "leaves p")

		state := server.Apply([]*ir.GlobalRateLimit{policy("a", rule("r", 1, true))})
		if again := server.Apply([]*ir.GlobalRateLimit{policy("a", rule("r", 1, true))}); again != state {
			t.Errorf("the same limits are the state %s, and then %s", state, again)
		}
		synctest.Wait()
		if len(s.responses) > 0 {
			t.Error("there is a response while the last one is not answered")
		}
		s.requests <- request("old")
		s.requests <- request(first.GetNonce())
		second := <-s.responses
		if second.GetVersionInfo() != state || len(second.GetResources()) != 1 {
			t.Errorf("the response is %v, want the state %s", second, state)
		}
		expect("after an ACK", fmt.Sprintf("p holds %.4s", first.GetVersionInfo()), "leaves p")

		nack := request(second.GetNonce())
		nack.ErrorDetail = &status.Status{Message: "no"}
		s.requests <- nack
		expect("after a NACK")
		if len(s.responses) > 0 {
			t.Error("what was rejected is sent again")
		}
		last := server.Apply(nil)
		third := <-s.responses
		s.requests <- request(third.GetNonce())
		expect("after an ACK of the next one", "leaves p", fmt.Sprintf("p holds %.4s", last))
		close(s.requests)
		if err := <-ended; err == nil {
			t.Error("the stream goes on")
		}
		expect("in the end", "disconnected p")
	})
}

func TestAnotherTypeIsNotServed(t *testing.T) {
	t.Parallel()
	server := ratelimit.NewServer(slog.New(slog.DiscardHandler), &journal{})
	s := stream{requests: make(chan *discoveryv3.DiscoveryRequest, 1)}
	s.requests <- &discoveryv3.DiscoveryRequest{TypeUrl: resourcev3.ClusterType}
	if err := server.Serve(t.Context(), s, xds.Identity{}); err == nil {
		t.Error("clusters are served")
	}
}
