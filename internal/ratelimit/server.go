package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// Server serves the configuration to the pods of the rate limit service, by the state-of-the-world protocol. An observer learns which
// state each pod has acknowledged.
type Server struct {
	log      *slog.Logger
	observer xds.Observer

	mu     sync.Mutex
	config versioned
	// changed is closed when there is another configuration.
	changed chan struct{}
}

// versioned is a configuration. Its version is derived from its bytes, so it is the same in every replica.
type versioned struct {
	version string
	body    *anypb.Any
}

// NewServer returns a Server that serves no limits.
func NewServer(log *slog.Logger, observer xds.Observer) *Server {
	s := &Server{log: log, observer: observer, changed: make(chan struct{})}
	s.Apply(nil)
	return s
}

// Apply replaces the limits, and returns the state that pods are to have.
func (s *Server) Apply(all []*ir.GlobalRateLimit) (state string) {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(Config(all))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.log.Error("the configuration of the rate limit service cannot be written; this is a bug, please report it", "error", err)
		return s.config.version
	}
	sum := sha256.Sum256(value)
	if version := hex.EncodeToString(sum[:]); version != s.config.version {
		s.config = versioned{version, &anypb.Any{TypeUrl: resourcev3.RateLimitConfigType, Value: value}}
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return s.config.version
}

func (s *Server) current() (versioned, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config, s.changed
}

// Stream is the stream of a pod.
type Stream = discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer

// Serve serves one pod until its stream or the context ends. The next response is sent when the last one is answered.
func (s *Server) Serve(ctx context.Context, stream Stream, pod xds.Identity) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.observer.Connected(pod)
	defer s.observer.Disconnected(pod)
	requests, ended := receive(ctx, stream)
	session := session{Server: s, stream: stream, pod: pod, answered: true}
	for {
		config, changed := s.current()
		if err := session.send(config); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-changed:
		case request := <-requests:
			if err := session.take(request); err != nil {
				return err
			}
		}
	}
}

// receive passes on requests until the stream ends.
func receive(ctx context.Context, stream Stream) (<-chan *discoveryv3.DiscoveryRequest, <-chan error) {
	requests, ended := make(chan *discoveryv3.DiscoveryRequest), make(chan error, 1)
	go func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			select {
			case requests <- request:
			case <-ctx.Done():
				return
			}
		}
	}()
	return requests, ended
}

// session is what is known of the stream of a pod.
type session struct {
	*Server
	stream Stream
	pod    xds.Identity
	// subscribed is true behind the first request, and answered while no response waits for one.
	subscribed, answered bool
	// sent is the version of the last response, and nonce its number.
	sent  string
	nonce int
}

func (s *session) send(config versioned) error {
	if !s.subscribed || !s.answered || s.sent == config.version {
		return nil
	}
	s.observer.Leaves(s.pod)
	s.nonce++
	s.sent, s.answered = config.version, false
	return s.stream.Send(&discoveryv3.DiscoveryResponse{ //nolint:wrapcheck // it is a status
		VersionInfo: config.version, TypeUrl: resourcev3.RateLimitConfigType, Nonce: strconv.Itoa(s.nonce), Resources: []*anypb.Any{config.body},
	})
}

// take reads a request: the first one subscribes, with whatever an earlier stream left in it, and all others are answers.
func (s *session) take(request *discoveryv3.DiscoveryRequest) error {
	switch {
	case request.GetTypeUrl() != resourcev3.RateLimitConfigType:
		return status.Errorf(codes.InvalidArgument, "the rate limit service is given no resources of type %.100q", request.GetTypeUrl())
	case !s.subscribed:
		s.subscribed = true
	case request.GetResponseNonce() != strconv.Itoa(s.nonce) || s.answered:
	case request.GetErrorDetail() != nil:
		s.answered = true
		s.log.Error("the rate limit service rejects its configuration and keeps the last one; this is a bug, please report it",
			"pod", s.pod.Pod, "error", fmt.Sprintf("%.1000s", request.GetErrorDetail().GetMessage()))
	default:
		s.answered = true
		s.observer.Holds(s.pod, s.sent)
	}
	return nil
}
