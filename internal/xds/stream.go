package xds

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	deltav3 "github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is one proxy's connection. To go-control-plane, which speaks the protocol, it is both the cache that is watched and the observer
// of what happens, so a proxy can only ever reach the group of its identity.
type stream struct {
	// identity and node, on which the proxy runs as far as it is known, never change.
	identity Identity
	node     string
	group    *group
	logger   *slog.Logger
	metrics  *metrics
	observer Observer
	// panicked is told of a panic of somebody who works for the stream, and ends it. It is nil where a panic is to end the process.
	panicked func(any)
	// beforeSearch is for tests.
	beforeSearch func()

	mu sync.Mutex
	// anchored says that the proxy has subscribed to scopes for as long as it lives; see anchor.go.
	anchored bool
	// settled says that the proxy has answered something, and so has asked for all types that it wants; see round.begin.
	settled       bool
	subscriptions [wireTypes]subscription
	round         round
	// searches are for what is wrong with refused route tables, one at a time.
	searches []*search
	// held is the last state that the proxy was found to have, if it was reported; left says that the proxy has been sent something else
	// since.
	held     digest
	reported bool
	left     bool
	// kept is what the proxy had when it first refused something; see state.go.
	kept *[wireTypes]set
}

var (
	_ cachev3.ConfigWatcher = (*stream)(nil)
	_ deltav3.Callbacks     = (*stream)(nil)
)

// CreateDeltaWatch follows a request: the proxy wants something else, or has answered, and can take one more response of the type. The
// returned function takes that back.
func (s *stream) CreateDeltaWatch(request *cachev3.DeltaRequest, wanted cachev3.Subscription, out chan cachev3.DeltaResponse) (cancel func(), err error) {
	t, ok := typeOf(request.GetTypeUrl())
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "resources of type %q are not served", request.GetTypeUrl())
	}
	s.group.mu.RLock()
	defer s.group.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()

	if t == Endpoints {
		s.followEndpoints(request)
		if !s.subscriptions[Cluster].active {
			// Envoy asks for clusters first, unless it still warms some, which needs endpoints that come anew.
			request.InitialResourceVersions = nil
		}
	}
	own := &s.subscriptions[t]
	if t == Scope && !own.active && !s.anchored {
		forgetVersions(request)
	}
	if !own.active {
		// What the proxy holds of the type may use what this round was about to remove.
		s.round.removals = [wireTypes][]string{}
	}
	exists := func(name string) bool { return s.group.lookup(t, name) != nil }
	own.update(request, wanted.IsWildcard() && t.hasWildcard(), exists, s.group.names(t))
	own.out = out
	defer func() {
		if cancel == nil {
			// It panicked: the protocol closes the channel without having it taken back.
			own.out = nil
		}
	}()
	s.handRest(t)
	s.advance()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		own.out = nil
	}, nil
}

// CreateWatch refuses the state-of-the-world protocol, which is not served.
func (s *stream) CreateWatch(*cachev3.Request, cachev3.Subscription, chan cachev3.Response) (func(), error) {
	return nil, status.Error(codes.Unimplemented, "only delta xDS is served")
}

// notify follows a change of the group, which is locked.
func (s *stream) notify(different *touched) {
	defer s.contain()
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range wireTypes {
		own := &s.subscriptions[t]
		for name := range different[t] {
			if !own.wants(name) {
				continue
			}
			exists := s.group.lookup(t, name) != nil
			_, going := own.removed[name]
			if exists && going || !exists && own.settle(name) {
				// The proxy goes on with an earlier version until it is sent another one, or told to remove it. That may use what this round was about
				// to remove.
				s.round.removals = [wireTypes][]string{}
			}
			own.mark(name, exists)
		}
	}
	s.advance()
}

// notifyEndpoints follows a change of assignments. It must not need the group's lock.
func (s *stream) notifyEndpoints(names []string) {
	defer s.contain()
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &s.subscriptions[Endpoints]
	for _, name := range names {
		if own.wants(name) {
			own.mark(name, true)
		}
	}
	s.serve(Endpoints)
}

// advance hands over what can be sent now: what the proxy waits for, and the next steps of its round.
func (s *stream) advance() {
	for s.step() {
		// A step may make the next one possible.
	}
	s.serve(Endpoints)
	s.serve(Secret)
	s.answerTables()
	s.report()
}

// serve hands over everything there is to tell of a type that a proxy asks for when it needs it.
func (s *stream) serve(t Type) {
	own := &s.subscriptions[t]
	if !own.ready() || !own.waiting() && len(own.changed) == 0 && (t.removedLate() || len(own.removed) == 0) {
		return
	}
	r := newResponse(t)
	own.takeAnswers(r, s.lookup(t))
	own.takeChanges(r, s.lookup(t))
	if !t.removedLate() {
		own.takeRemovals(r, slices.Collect(maps.Keys(own.removed)))
	}
	if r = own.finish(r); r != nil {
		s.hand(t, r)
	}
}

// repeatEndpoints has the endpoints of new and changed clusters sent again if the proxy follows them already: Envoy warms each with an
// assignment that comes after the cluster, but does not ask again for what it follows, be it for the old version of the cluster or for
// another one with the same endpoints.
func (s *stream) repeatEndpoints(clusters *response) {
	endpoints := &s.subscriptions[Endpoints]
	for _, resource := range clusters.resources {
		if cluster, ok := resource.(*named); ok && endpoints.wants(cluster.endpoints) {
			delete(endpoints.sent, cluster.endpoints)
			endpoints.mark(cluster.endpoints, true)
		}
	}
}

func (s *stream) lookup(t Type) func(string) versioned {
	if t == Endpoints {
		return func(name string) versioned { return s.group.endpoints.lookup(s.group, name, s.node) }
	}
	return func(name string) versioned { return s.group.lookup(t, name) }
}

func (s *stream) followEndpoints(request *discoveryv3.DeltaDiscoveryRequest) {
	for _, name := range request.GetResourceNamesSubscribe() {
		if name != wildcardName { // there is no assignment of that name, and close would not unfollow it
			s.group.endpoints.follow(s, name)
		}
	}
	for _, name := range request.GetResourceNamesUnsubscribe() {
		s.group.endpoints.unfollow(s, name)
	}
}

// close is called when the stream is over.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.subscriptions[Endpoints].names {
		s.group.endpoints.unfollow(s, name)
	}
}

// OnDeltaStreamOpen does nothing: the server has admitted the stream before.
func (s *stream) OnDeltaStreamOpen(context.Context, int64, string) error { return nil }

// OnDeltaStreamClosed does nothing: the server cleans up.
func (s *stream) OnDeltaStreamClosed(int64, *corev3.Node) {}

// OnStreamDeltaRequest records an answer, if the request is one.
func (s *stream) OnStreamDeltaRequest(_ int64, request *discoveryv3.DeltaDiscoveryRequest) error {
	if err := s.identity.checkNode(request.GetNode()); err != nil {
		return err
	}
	t, ok := typeOf(request.GetTypeUrl())
	if !ok {
		return nil
	}
	if err := s.limitNames(t, request); err != nil {
		return err
	}
	refusal := request.GetErrorDetail()
	clipReason(t, refusal)
	found := s.takeAnswer(t, request)
	s.prepareSearches()
	if refusal != nil {
		s.metrics.refusals.WithLabelValues(t.String()).Inc()
		s.logger.Warn("proxy refused configuration", "gateway", s.group.name, "pod", s.identity.Pod, "type", t.String(), "reason", refusal.GetMessage())
	}
	for _, r := range found {
		s.refused(r)
	}
	return nil
}

// takeAnswer records an ACK or a NACK in one step, so that nobody sees a refused response as an acknowledged one. It returns the resources
// that a NACK names.
func (s *stream) takeAnswer(t Type, request *discoveryv3.DeltaDiscoveryRequest) []Refusal {
	refusal := request.GetErrorDetail()
	s.mu.Lock()
	defer s.mu.Unlock()
	if node := request.GetNode(); node != nil {
		s.anchored = anchored(node)
	}
	answered := s.subscriptions[t].answered(request.GetResponseNonce(), refusal != nil)
	s.settled = s.settled || answered != nil
	switch {
	case answered == nil:
	case answered.probe:
		s.judge(refusal.GetMessage())
	case refusal != nil:
		return s.blame(t, answered, refusal.GetMessage())
	}
	return nil
}

// OnStreamDeltaResponse records what is about to be sent.
func (s *stream) OnStreamDeltaResponse(_ int64, _ *discoveryv3.DeltaDiscoveryRequest, message *discoveryv3.DeltaDiscoveryResponse) {
	t, ok := typeOf(message.GetTypeUrl())
	if !ok {
		return
	}
	s.metrics.sent(t, message)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions[t].sentAs(message.GetNonce())
}
