package programmed

import (
	"slices"
	"sync"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// Statuses decorates the outcomes that the pipeline sets, and passes them on. It does so again when the progress of an object changes.
type Statuses struct {
	// Statuses is where outcomes go. Those that proxies have no part in pass through.
	pipeline.Statuses
	tracker *convergence.Tracker
	reaches func()

	mu      sync.Mutex
	objects map[convergence.Object]*object
}

var (
	_ pipeline.Statuses    = (*Statuses)(nil)
	_ pipeline.Convergence = (*Statuses)(nil)
)

// object is the last outcome of an object.
type object struct {
	// route reports that it is a route, and generation is that of a route or an inherited policy.
	route      bool
	generation int64
	// nacks are by Gateway.
	nacks map[string]outcome.Rejection
	// publish passes on the outcome with what condition returns for each Gateway.
	publish publisher
}

type publisher func(id convergence.Object, condition func(gateway string) outcome.Condition)

// New returns a Statuses that passes outcomes on. It takes the place of other receivers of the tracker's changes.
func New(tracker *convergence.Tracker, statuses pipeline.Statuses) *Statuses {
	s := &Statuses{Statuses: statuses, tracker: tracker, reaches: func() {}, objects: map[convergence.Object]*object{}}
	tracker.OnChange(s.changed)
	return s
}

// OnReach sets a function that is called before proxies are asked whether they hold new states: it passes on the NACKs of those that other
// replicas have sent these states before. Call it before all other methods.
func (s *Statuses) OnReach(check func()) { s.reaches = check }

// Reach implements [pipeline.Convergence].
func (s *Statuses) Reach(states map[xds.GroupID]string, since time.Time) {
	s.reaches()
	s.tracker.Reach(states, since)
}

// changed publishes the outcome of an object whose progress has changed.
func (s *Statuses) changed(id convergence.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish(id)
}

func (s *Statuses) publish(id convergence.Object) {
	if o := s.objects[id]; o != nil {
		o.publish(id, func(gateway string) outcome.Condition { return s.condition(id, gateway) })
	}
}

// SetRoute sets the outcome of a route. Each parent gets the condition Programmed.
func (s *Statuses) SetRoute(kind store.Kind, key string, o outcome.Route) {
	publish := func(id convergence.Object, condition func(string) outcome.Condition) {
		decorated := o
		decorated.Parents = slices.Clone(o.Parents)
		for i := range decorated.Parents {
			parent := &decorated.Parents[i]
			if slices.ContainsFunc(parent.Conditions, func(c outcome.Condition) bool { return c.Type == outcome.RouteProgrammed }) {
				continue
			}
			own := notAttached
			if parent.Gateway != "" {
				own = atParent(s.objects[id].nacks[parent.Gateway], parent.Listeners, condition(parent.Gateway))
			}
			own.Type = outcome.RouteProgrammed
			parent.Conditions = slices.Concat(parent.Conditions, []outcome.Condition{own})
		}
		s.Statuses.SetRoute(id.Kind, id.Key, decorated)
	}
	s.set(convergence.Object{Kind: kind, Key: key}, &object{route: true, generation: o.Generation, publish: publish}, gatewaysOf(o))
}

func gatewaysOf(o outcome.Route) []string {
	var gateways []string
	for _, parent := range o.Parents {
		if parent.Gateway != "" && !slices.Contains(gateways, parent.Gateway) {
			gateways = append(gateways, parent.Gateway)
		}
	}
	return withRateLimits(gateways, o.RateLimited)
}

// withRateLimits adds the rate limit service to the groups that an object waits for.
func withRateLimits(groups []string, limited bool) []string {
	if !limited || len(groups) == 0 {
		return groups
	}
	return append(slices.Clone(groups), rateLimitService)
}

// SetGateway sets the outcome of a Gateway.
func (s *Statuses) SetGateway(key string, o outcome.Gateway) {
	publish := func(id convergence.Object, condition func(string) outcome.Condition) {
		decorated := o
		decorated.Conditions = withFleetError(s.tracker.Progress(id, id.Key).FleetError, withProgrammed(o.Conditions, condition(id.Key)))
		decorated.Listeners = decorate(s.objects[id].nacks[id.Key], o.Listeners, condition(id.Key))
		s.Statuses.SetGateway(id.Key, decorated)
	}
	s.set(convergence.Object{Kind: store.Gateway, Key: key}, &object{publish: publish}, []string{key})
}

// SetListenerSet sets the outcome of a ListenerSet.
func (s *Statuses) SetListenerSet(key string, o outcome.ListenerSet) {
	publish := func(id convergence.Object, condition func(string) outcome.Condition) {
		decorated := o
		decorated.Conditions = withProgrammed(o.Conditions, condition(o.Gateway))
		decorated.Listeners = decorate(s.objects[id].nacks[o.Gateway], o.Listeners, condition(o.Gateway))
		s.Statuses.SetListenerSet(id.Key, decorated)
	}
	s.set(convergence.Object{Kind: store.ListenerSet, Key: key}, &object{publish: publish}, []string{o.Gateway})
}

// decorate gives each listener the condition of its object, unless the NACK is about the listener itself.
func decorate(r outcome.Rejection, listeners []outcome.Listener, condition outcome.Condition) []outcome.Listener {
	decorated := slices.Clone(listeners)
	for i := range decorated {
		own := condition
		if reason, rejected := r.Listeners[decorated[i].Name]; rejected {
			own = outcome.Condition{State: outcome.False, Reason: string(gwv1.ListenerReasonInvalid), Message: reason}
		}
		decorated[i].Conditions = withProgrammed(decorated[i].Conditions, own)
	}
	return decorated
}

// set replaces the outcome of an object. A route of the same generation keeps its NACKs until Accept removes them.
func (s *Statuses) set(id convergence.Object, next *object, gateways []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.objects[id]; before != nil && next.generation > 0 && before.generation == next.generation {
		next.nacks = before.nacks
	}
	s.objects[id] = next
	s.tracker.Track(id, gateways)
	s.publish(id)
}

// SetPolicy sets the outcome of a policy or an XBackend. An inherited policy gets the condition Programmed; any other only while proxies
// reject what comes from it.
func (s *Statuses) SetPolicy(kind store.Kind, key string, o outcome.Policy) {
	id := convergence.Object{Kind: kind, Key: key}
	if len(o.Conditions) > 0 {
		publish := func(id convergence.Object, condition func(string) outcome.Condition) {
			s.Statuses.SetPolicy(id.Kind, id.Key, withPolicyProgrammed(o, condition))
		}
		s.set(id, &object{generation: o.Generation, publish: publish}, withRateLimits(o.Gateways, o.RateLimited))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &object{}
	if before := s.objects[id]; before != nil {
		// Whether proxies reject the new version too is known only later.
		next.nacks = before.nacks
	}
	next.publish = func(id convergence.Object, _ func(string) outcome.Condition) {
		decorated := o
		decorated.Ancestors = slices.Clone(o.Ancestors)
		for i := range decorated.Ancestors {
			ancestor := &decorated.Ancestors[i]
			if reason := s.objects[id].nacks[gatewayKey(ancestor.Ref)].Message; reason != "" {
				condition := nackedCondition(reason)
				condition.Type = outcome.RouteProgrammed
				ancestor.Conditions = slices.Concat(ancestor.Conditions, []outcome.Condition{condition})
			}
		}
		s.Statuses.SetPolicy(id.Kind, id.Key, decorated)
	}
	s.objects[id] = next
	s.publish(id)
}

// gatewayKey is `namespace/name` of the Gateway that is an ancestor of a policy.
func gatewayKey(ref outcome.ParentRef) string {
	if ref.Namespace == nil {
		return ref.Name
	}
	return *ref.Namespace + "/" + ref.Name
}

// Forget drops the outcome of an object.
func (s *Statuses) Forget(kind store.Kind, key string) {
	s.drop(convergence.Object{Kind: kind, Key: key})
	s.Statuses.Forget(kind, key)
}

// ReleaseGateway drops the outcome of a Gateway that is no longer ours.
func (s *Statuses) ReleaseGateway(key string, generation int64) {
	s.drop(convergence.Object{Kind: store.Gateway, Key: key})
	s.Statuses.ReleaseGateway(key, generation)
}

// WithdrawListenerSet replaces the outcome of a ListenerSet, and drops it.
func (s *Statuses) WithdrawListenerSet(key string, o outcome.ListenerSet) {
	s.drop(convergence.Object{Kind: store.ListenerSet, Key: key})
	s.Statuses.WithdrawListenerSet(key, o)
}

func (s *Statuses) drop(id convergence.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[id] != nil {
		s.tracker.Forget(id)
		delete(s.objects, id)
	}
}
