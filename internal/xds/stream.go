package xds

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	deltav3 "github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is the stream of one proxy. To go-control-plane, which implements the protocol, it is both the cache and the callbacks, so a
// proxy can only reach the group of its identity.
type stream struct {
	// identity, owner and node, the node of the proxy if it is known, never change.
	identity Identity
	owner    string
	node     string
	group    *group
	logger   *slog.Logger
	metrics  *metrics
	observer Observer
	// end ends the stream with a status for the proxy.
	end func(error)
	// panicked is called after a panic in work for the stream, and ends the stream. It is nil if a panic is to end the process.
	panicked func(any)
	// beforeBisection is for tests.
	beforeBisection func()
	// allowed is what the proxy may list of what does not exist any more, and gone and goneBytes what it has.
	allowed         allowedLists
	gone, goneBytes int

	mu sync.Mutex
	// anchored reports that the proxy keeps its subscription to scopes for as long as it lives; see anchor.go.
	anchored bool
	// answeredOnce reports that the proxy has answered a response, and so has requested all types that it wants; see stream.begin.
	answeredOnce bool
	// reporting reports that the observer does not know all NACKs yet that are recorded.
	reporting     bool
	subscriptions [wireTypes]subscription
	cycle         updateCycle
	// bisections find the culprits of NACKed route tables and scopes, one at a time.
	bisections []*bisection
	// ackedState is the last state that was reported to the observer, if reported. left reports that the proxy has been sent another one
	// since.
	ackedState digest
	reported   bool
	left       bool
	// pinned is what the proxy had when it first NACKed something, or something began to wait; see state.go.
	pinned *[wireTypes]set
	// missing are the clusters that the proxy may not have, nil for none; see missing_clusters.go.
	missing *missingClusters
	// timer continues the stream at wakeAt, when something stops to wait.
	timer  *time.Timer
	wakeAt time.Time
	closed bool
	// settled are the NACKed versions that nothing replaces; see state.go.
	settled [wireTypes]map[string]settledNACK
	// headers is what is known about the headers of tables.
	headers map[string]headerState
	// rejected are the virtual hosts that the proxy rejects. replaced reports that there is a substitute for one that was just added.
	rejected map[hostKey]rejection
	replaced bool
}

var (
	_ cachev3.ConfigWatcher = (*stream)(nil)
	_ deltav3.Callbacks     = (*stream)(nil)
)

// CreateDeltaWatch handles a request: the proxy has changed its subscription, or has answered and can take one more response of the
// type. The returned function cancels that.
func (s *stream) CreateDeltaWatch(
	request *cachev3.DeltaRequest, wanted cachev3.Subscription, out chan cachev3.DeltaResponse,
) (cancel func(), err error) {
	t, ok := typeOf(request.GetTypeUrl())
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "resources of type %q are not served", request.GetTypeUrl())
	}
	s.group.mu.RLock()
	defer s.group.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errOtherOwner
	}

	if t == Endpoints {
		s.followEndpoints(request)
		if !s.subscriptions[Cluster].active {
			// Envoy requests clusters first, unless it still warms some, for which it needs endpoints again.
			request.InitialResourceVersions = nil
		}
	}
	own := &s.subscriptions[t]
	if t == Scope && !own.active && !s.anchored {
		forgetVersions(request)
	}
	if !own.active {
		// What the proxy has of the type may refer to what this cycle was about to remove.
		s.cycle.removals = [wireTypes][]string{}
	}
	exists := func(name string) bool { return s.group.lookup(t, name) != nil }
	own.update(request, wanted.IsWildcard() && t.hasWildcard(), exists, s.group.names(t))
	own.out = out
	defer func() {
		if cancel == nil {
			// It panicked: the protocol closes the channel without cancelling it.
			own.out = nil
		}
	}()
	s.sendRest(t)
	s.advance()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		own.out = nil
	}, nil
}

// CreateWatch rejects the state-of-the-world protocol, which is not served.
func (s *stream) CreateWatch(*cachev3.Request, cachev3.Subscription, chan cachev3.Response) (func(), error) {
	return nil, status.Error(codes.Unimplemented, "only delta xDS is served")
}

// notify handles a change of the group, which is locked.
func (s *stream) notify(different *touched) {
	defer s.contain()
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range wireTypes {
		own := &s.subscriptions[t]
		for name := range different[t] {
			if t == Scope {
				s.forgetRejected(name)
			}
			if !own.wants(name) {
				continue
			}
			seen := s.group.lookup(t, name)
			exists := seen != nil
			if version, nacked := own.nacked[name]; t == Scope && nacked && exists && seen.Version() != version {
				// If that version comes back, it is sent and reported again.
				own.resend(name, version)
			}
			_, going := own.removed[name]
			if exists && going || !exists && own.forgetNACK(name) {
				// The proxy uses an earlier version until it gets another one, or a removal. That may refer to what this cycle was about to remove.
				s.cycle.removals = [wireTypes][]string{}
			}
			own.mark(name, exists)
		}
	}
	s.advance()
}

// notifyEndpoints handles a change of load assignments. It must not need the group's lock.
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

// advance sends what can be sent now: what the proxy waits for, and the next steps of its update cycle.
func (s *stream) advance() {
	now := time.Now()
	for s.step() {
		// One step may make the next one possible.
	}
	s.serve(Endpoints)
	s.serve(Secret)
	s.answerTables()
	s.report()
	s.schedule(now)
}

// serve sends everything there is to send of a type that a proxy requests by name when it needs it.
func (s *stream) serve(t Type) {
	own := &s.subscriptions[t]
	if !own.ready() || !own.waiting() && len(own.changed) == 0 && (t.removedAfterACK() || len(own.removed) == 0) {
		return
	}
	r := newResponse(t)
	own.takeAnswers(r, s.lookup(t))
	own.takeChanges(r, s.lookup(t), func(versioned, bool) bool { return false })
	if !t.removedAfterACK() {
		own.takeRemovals(r, slices.Collect(maps.Keys(own.removed)))
	}
	if r = own.finish(r); r != nil {
		s.send(t, r)
	}
}

// repeatEndpoints sends the endpoints of new and changed clusters again if the proxy subscribes to them already. Envoy warms each
// cluster with an assignment that comes after it, but does not request again what it subscribes to.
func (s *stream) repeatEndpoints(clusters *response) {
	endpoints := &s.subscriptions[Endpoints]
	for _, resource := range clusters.resources {
		if cluster, ok := resource.(*namedResource); ok && endpoints.wants(cluster.endpoints) {
			delete(endpoints.sent, cluster.endpoints)
			endpoints.mark(cluster.endpoints, true)
		}
	}
}

func (s *stream) lookup(t Type) func(string) versioned {
	if t == Endpoints {
		return func(name string) versioned { return s.group.endpoints.lookup(s.group, name, s.node) }
	}
	if t == Scope {
		return func(name string) versioned { return s.withSubstitutes(name, s.group.lookup(t, name)) }
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

// close is called when the stream is over, or is to end. Nothing is sent from then on.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.unschedule()
	for t := range s.subscriptions {
		s.subscriptions[t].out = nil
	}
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
	if err := s.limitVersions(t, request); err != nil {
		return err
	}
	detail := request.GetErrorDetail()
	clipReason(t, detail)
	found := s.takeAnswer(t, request)
	s.prepareBisections()
	if detail != nil {
		s.metrics.nacks.WithLabelValues(t.String()).Inc()
		s.logger.Warn("proxy sent a NACK",
			"group", s.group.id.String(), "pod", s.identity.Pod, "type", t.String(), "reason", detail.GetMessage())
	}
	if len(found) > 0 {
		s.reportNACKs(found)
	}
	return nil
}

// reportNACKs reports NACKs. Until then the proxy does not count as one that holds the rest, which the watch of this request reports.
func (s *stream) reportNACKs(nacks []NACK) {
	for _, nack := range nacks {
		s.fallBack(nack)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reporting = false
}

// takeAnswer records an ACK or a NACK in one step, so that a NACKed response never counts as acknowledged. It returns the resources
// that are rejected as a whole.
func (s *stream) takeAnswer(t Type, request *discoveryv3.DeltaDiscoveryRequest) []NACK {
	detail := request.GetErrorDetail()
	s.mu.Lock()
	defer s.mu.Unlock()
	if node := request.GetNode(); node != nil {
		s.anchored = anchored(node)
	}
	answered := s.subscriptions[t].answered(request.GetResponseNonce(), detail != nil)
	s.answeredOnce = s.answeredOnce || answered != nil
	if answered == nil {
		return nil
	}
	if t == Cluster {
		defer s.retryRejected(answered)
	}
	switch {
	case answered.probe:
		s.takeProbeAnswer(detail.GetMessage())
	case detail != nil:
		nacks := s.attribute(t, answered, detail.GetMessage())
		s.reporting = len(nacks) > 0
		return nacks
	case t == Scope:
		s.acceptHeaders(answered)
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
