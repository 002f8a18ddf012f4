package xds

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/config"
	deltav3 "github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	// maxSent bounds a response. Responses are cut into much smaller parts, see parts.go; only one resource, or its probes, may be larger.
	maxSent = 512 << 20
	// maxStreams is for each connection. A proxy needs one connection with one stream.
	maxStreams = 4
	// readBuffer is for each connection; most requests are acknowledgements.
	readBuffer = 4 << 10

	pingInterval    = 30 * time.Second
	pingTimeout     = 10 * time.Second
	minPingInterval = 5 * time.Second
	handshake       = 10 * time.Second
	// shutdownTimeout is how long proxies that do not read may delay the shutdown.
	shutdownTimeout = 5 * time.Second
)

// Server serves a Cache to proxies. Only delta ADS is served; the state-of-the-world protocol is for the rate limit service alone.
type Server struct {
	cache         *Cache
	authenticator Authenticator
	logger        *slog.Logger
	metrics       *metrics
	observer      Observer
	peers         cachev3.ConfigWatcher
	peerType      string
	// rateLimits serves the rate limit service, whose identities have the group rateLimitGroup.
	rateLimits     RateLimits
	rateLimitGroup GroupID
	protocol       []config.XDSOption
	places         places
	allowed        allowedLists
	// sendTimeout, random and beforeBisection are replaced in tests.
	sendTimeout     time.Duration
	random          func() float64
	beforeBisection func()
}

// NewServer returns a Server for a cache. It admits the callers that the authenticator accepts. The observer may be nil.
func NewServer(
	cache *Cache, authenticator Authenticator, logger *slog.Logger, registerer prometheus.Registerer, observer Observer,
) *Server {
	if observer == nil {
		observer = noObserver{}
	}
	var byName []string
	for t := range wireTypes {
		if !t.hasWildcard() {
			byName = append(byName, typeURLs[t])
		}
	}
	return &Server{
		cache:         cache,
		authenticator: authenticator,
		logger:        logger,
		metrics:       newMetrics(registerer),
		observer:      observer,
		protocol:      []config.XDSOption{deltav3.DeactivateLegacyWildcardForTypes(byName)},
		allowed:       allow(0, 0),
		sendTimeout:   sendTimeout,
		random:        rand.Float64,
	}
}

// ServePeers lets other replicas of the control plane watch resources of a type. Proxies cannot see these, and replicas cannot see
// those of proxies. Call it before Serve.
func (s *Server) ServePeers(watcher cachev3.ConfigWatcher, typeURL string) {
	s.peers, s.peerType = watcher, typeURL
}

// RateLimits serves one pod of the rate limit service until its stream or the context ends.
type RateLimits func(
	ctx context.Context, stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer, pod Identity,
) error

// ServeRateLimits serves the pods of the rate limit service, whose identities have that group. Call it before Serve.
func (s *Server) ServeRateLimits(group GroupID, serve RateLimits) {
	s.rateLimitGroup, s.rateLimits = group, serve
}

// Serve serves proxies until the context is done. Connections are always encrypted, because they carry tokens.
func (s *Server) Serve(ctx context.Context, listener net.Listener, security *tls.Config) error {
	server := grpc.NewServer(
		grpc.Creds(closableCreds{credentials.NewTLS(security)}),
		grpc.StreamInterceptor(s.admitStream),
		grpc.UnaryInterceptor(s.admitCall),
		grpc.MaxSendMsgSize(maxSent),
		grpc.MaxRecvMsgSize(s.allowed.received),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxStreams),
		// Most of the time most connections are idle.
		grpc.ReadBufferSize(readBuffer),
		grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingInterval, Timeout: pingTimeout, MaxConnectionIdle: maxIdle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, &service{Server: s, running: ctx, contains: true})
	done := make(chan struct{})
	stopping := context.AfterFunc(ctx, func() {
		defer close(done)
		force := time.AfterFunc(shutdownTimeout, server.Stop)
		defer force.Stop()
		server.GracefulStop()
	})
	err := server.Serve(newConnections(listener))
	if !stopping() {
		<-done
	}
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve xDS on %s: %w", listener.Addr(), err)
	}
	return nil
}

// service is a running Server.
type service struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	*Server
	running context.Context
	// contains reports that a panic ends one stream, not the process.
	contains bool
}

// DeltaAggregatedResources serves one proxy. It is authenticated already; its node must not contradict that.
func (s *service) DeltaAggregatedResources(connection discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	ctx, end := context.WithCancelCause(connection.Context())
	defer end(nil)
	defer context.AfterFunc(s.running, func() { end(nil) })()
	identity := identityOf(ctx)
	if identity.Peer() {
		if s.peers == nil {
			return status.Error(codes.PermissionDenied, "a replica of the control plane is given no configuration of proxies")
		}
		return deltav3.NewServer(ctx, peerWatcher{s.peers, identity, s.peerType}, nil).DeltaStreamHandler(connection, resourcev3.AnyType)
	}
	if identity.Group == s.rateLimitGroup {
		return status.Error(codes.PermissionDenied, "the rate limit service is given no configuration of proxies")
	}
	if !s.cache.opened.Load() {
		return errNotOpen
	}
	proof := proofOf(ctx)
	proxy := &stream{
		identity: identity, owner: proof.Owner, node: proof.Node, logger: s.logger, metrics: s.metrics, observer: s.observer, end: end,
		beforeBisection: s.beforeBisection, allowed: s.allowed,
	}
	if s.contains {
		proxy.panicked = func(p any) {
			s.panicked(identity, p)
			end(errPanicked)
		}
	}
	if err := s.cache.connect(proxy, identity.Group); err != nil {
		return s.reject(err)
	}
	defer s.cache.disconnect(proxy)
	s.metrics.connected.Inc()
	defer s.metrics.connected.Dec()
	s.observer.Connected(identity)
	defer s.observer.Disconnected(identity)
	err := deltav3.NewServer(ctx, proxy, proxy, s.protocol...).DeltaStreamHandler(connection, resourcev3.AnyType)
	for _, ended := range []error{errPanicked, errOtherOwner} {
		if errors.Is(context.Cause(ctx), ended) {
			return ended
		}
	}
	return err //nolint:wrapcheck // it is a status for the proxy
}

// errNotOpen rejects a caller before the first full sync.
var errNotOpen = status.Error(codes.Unavailable, "not everything is known yet")

// StreamAggregatedResources serves one pod of the rate limit service.
func (s *service) StreamAggregatedResources(connection discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	identity := identityOf(connection.Context())
	switch {
	case s.rateLimits == nil || identity.Group != s.rateLimitGroup:
		return status.Error(codes.Unimplemented, "proxies are served by the delta protocol only")
	case !s.cache.opened.Load():
		return errNotOpen
	}
	ctx, end := context.WithCancel(connection.Context())
	defer end()
	defer context.AfterFunc(s.running, end)()
	return s.rateLimits(ctx, connection, identity)
}
