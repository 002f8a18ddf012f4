package model

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
)

const wildcard = "*"

type set = map[string]bool

// subscription is what Envoy remembers of a type for as long as it runs (delta_subscription_state.cc). It is never erased
// (new_grpc_mux_impl.cc).
type subscription struct {
	typeURL string
	// requested has a version for each name that something watches, empty until one came. Of a wildcard it has only "*", which nothing ever
	// takes out.
	requested map[string]string
	// wild has the versions that came by the wildcard, whether or not anything watched.
	wild           map[string]string
	added, removed set
	// legacy says that names were never asked for, so that the first request of a stream is empty.
	legacy bool
	// sent says that the current stream has had a request.
	sent bool
}

// interest follows watches that begin and end, by name.
func (s *subscription) interest(added, removed []string) {
	for _, name := range added {
		s.legacy = false
		s.requested[name] = ""
		delete(s.removed, name)
		s.added[name] = true
	}
	for _, name := range removed {
		if _, ok := s.requested[name]; ok {
			delete(s.requested, name)
			s.removed[name] = true
			s.legacy = false
		}
		delete(s.added, name)
	}
}

func (s *subscription) pending() bool {
	return len(s.added)+len(s.removed) > 0 || !s.sent && (len(s.requested) > 0 || s.legacy)
}

func (s *subscription) next() *discoveryv3.DeltaDiscoveryRequest {
	r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: s.typeURL}
	if !s.sent {
		s.sent = true
		if s.legacy {
			s.requested[wildcard] = ""
		}
		r.InitialResourceVersions = map[string]string{}
		for name, version := range s.requested {
			if version != "" {
				r.InitialResourceVersions[name] = version
			}
			s.added[name] = true
		}
		maps.Copy(r.InitialResourceVersions, s.wild)
		if s.legacy {
			clear(s.added)
		}
		clear(s.removed)
	}
	r.ResourceNamesSubscribe = slices.Sorted(maps.Keys(s.added))
	r.ResourceNamesUnsubscribe = slices.Sorted(maps.Keys(s.removed))
	clear(s.added)
	clear(s.removed)
	return r
}

// store remembers the versions of a response that was taken.
func (s *subscription) store(r *discoveryv3.DeltaDiscoveryResponse) {
	_, all := s.requested[wildcard]
	for _, resource := range r.GetResources() {
		if _, named := s.requested[resource.GetName()]; named {
			s.requested[resource.GetName()] = resource.GetVersion()
		} else if all {
			s.wild[resource.GetName()] = resource.GetVersion()
		}
	}
	for _, name := range r.GetRemovedResources() {
		if _, named := s.requested[name]; named {
			s.requested[name] = ""
		} else {
			delete(s.wild, name)
		}
	}
}

type acknowledgement struct {
	typeURL, nonce, problem string
}

// subscribe begins a subscription to everything of a type, or to names once the first is watched.
func (e *Envoy) subscribe(typeURL string) *subscription {
	if s := e.subscriptions[typeURL]; s != nil {
		return s
	}
	s := &subscription{typeURL: typeURL, requested: map[string]string{}, wild: map[string]string{}, added: set{}, removed: set{}, legacy: true}
	e.subscriptions[typeURL] = s
	e.order = append(e.order, s)
	return s
}

// watch and unwatch count who watches a name; only the first and the last change what Envoy asks for (watch_map.cc).
func (e *Envoy) watch(typeURL, name string) {
	key := typeURL + name
	if e.watches[key]++; e.watches[key] == 1 {
		e.subscribe(typeURL).interest([]string{name}, nil)
	}
}

func (e *Envoy) unwatch(typeURL, name string) {
	key := typeURL + name
	if e.watches[key]--; e.watches[key] == 0 {
		delete(e.watches, key)
		e.subscribe(typeURL).interest(nil, []string{name})
	}
}

// Connect begins a stream. Everything is asked for anew, and acknowledgements for the stream before are forgotten.
func (e *Envoy) Connect(send func(*discoveryv3.DeltaDiscoveryRequest)) {
	e.send, e.first = send, true
	e.queue = nil
	for _, s := range e.order {
		s.sent = false
	}
	e.flush()
}

// Disconnect ends the stream.
func (e *Envoy) Disconnect() { e.send = nil }

// flush sends acknowledgements, then changes of interest in the order in which types were first asked for. What is paused waits
// (pausable_ack_queue.cc).
func (e *Envoy) flush() {
	for e.send != nil {
		var request *discoveryv3.DeltaDiscoveryRequest
		ready := func(typeURL string) bool {
			return !e.paused[typeURL] && (typeURL != clusterType || !e.warmingClusters())
		}
		i := slices.IndexFunc(e.queue, func(a acknowledgement) bool { return ready(a.typeURL) })
		j := slices.IndexFunc(e.order, func(s *subscription) bool { return ready(s.typeURL) && s.pending() })
		switch {
		case i >= 0:
			a := e.queue[i]
			e.queue = slices.Delete(e.queue, i, i+1)
			request = e.subscriptions[a.typeURL].next()
			request.ResponseNonce = a.nonce
			if a.problem != "" {
				request.ErrorDetail = &rpcstatus.Status{Code: int32(codes.Internal), Message: a.problem}
			}
		case j >= 0:
			request = e.order[j].next()
		default:
			return
		}
		if e.first {
			e.first = false
			request.Node = e.Node
		}
		e.send(request)
	}
}

// pause holds back the requests of types until the returned function is called.
func (e *Envoy) pause(types ...string) func() {
	for _, t := range types {
		e.paused[t] = true
	}
	return func() {
		clear(e.paused)
		e.flush()
	}
}

// Receive takes a response. A refused one changes no version, whatever of it was applied; and whatever of its type waits for its first
// answer waits no more (new_grpc_mux_impl.cc, watch_map.cc).
func (e *Envoy) Receive(r *discoveryv3.DeltaDiscoveryResponse) {
	s := e.subscriptions[r.GetTypeUrl()]
	if s == nil {
		return
	}
	var problem string
	switch r.GetTypeUrl() {
	case clusterType:
		problem = e.takeClusters(r)
	case endpointType:
		e.takeEndpoints(r)
	case listenerType:
		problem = e.takeListeners(r)
	case routeType:
		problem = e.takeTables(r)
	case scopeType:
		problem = e.takeScopes(r)
	case secretType:
		e.takeSecrets(r)
	}
	if problem == "" {
		s.store(r)
	} else {
		e.failed(r.GetTypeUrl())
	}
	// What this makes ready, and what that asks for, comes before the acknowledgement.
	e.advance()
	e.flush()
	e.queue = append(e.queue, acknowledgement{r.GetTypeUrl(), r.GetNonce(), problem})
	e.flush()
}
