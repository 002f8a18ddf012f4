package simulation

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing/synctest"

	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/store"
)

var errUnavailable = errors.New("the API server does not answer")

// What arrives at replicas, at the API server and at proxies.

func (s *simulation) deliverEvent(a Action) bool {
	r := s.running(a.N)
	if r == nil || len(r.pending[a.Kind]) == 0 {
		return false
	}
	e := r.pending[a.Kind][0]
	r.pending[a.Kind] = r.pending[a.Kind][1:]
	r.last[a.Kind] = e
	r.observe(e)
	return true
}

func (s *simulation) repeatEvent(a Action) bool {
	r := s.running(a.N)
	if r == nil {
		return false
	}
	e, known := r.last[a.Kind]
	if !known {
		return false
	}
	r.observe(e)
	return true
}

// deliverAll has a watch begin anew: of each object only the newest version arrives. Either each has its effect before the next,
// or all arrive while the configuration lane is busy with something that changes nothing, and are one batch.
func (s *simulation) deliverAll(a Action) bool {
	r := s.running(a.N)
	if r == nil || len(r.pending[a.Kind]) < 2 {
		return false
	}
	newest := map[ref]event{}
	for _, e := range r.pending[a.Kind] {
		e.statusOnly = false
		newest[e.ref] = e
	}
	r.pending[a.Kind] = nil
	delete(r.last, a.Kind)
	arrived := s.wait
	if a.M == together {
		arrived = synctest.Wait
		same := ref{store.Namespace, namespace}
		r.observe(event{ref: same, object: as[runtimeclient.Object](r.view[same])})
		arrived()
	}
	for _, what := range slices.SortedFunc(maps.Keys(newest), func(a, b ref) int { return strings.Compare(a.key, b.key) }) {
		r.observe(newest[what])
		arrived()
	}
	return true
}

func (s *simulation) handleCall(a Action) bool {
	r := s.running(a.N)
	if r == nil {
		return false
	}
	c := r.takeCall(true, false)
	if c == nil {
		return false
	}
	s.write(a.N, c)
	return true
}

func (s *simulation) failCall(a Action) bool {
	r := s.running(a.N)
	if r == nil {
		return false
	}
	c := r.takeCall(true, false)
	if c == nil {
		return false
	}
	c.done <- errUnavailable
	return true
}

func (s *simulation) deliverAssignments(a Action) bool {
	r := s.running(a.N)
	return r != nil && r.applyEndpoints()
}

// introduce tells a replica who the others are.
func (s *simulation) introduce(a Action) bool {
	r := s.running(a.N)
	if r == nil || !s.strangers[a.N] {
		return false
	}
	s.strangers[a.N] = false
	var others []string
	for _, other := range s.replicas {
		if other != nil && other != r {
			others = append(others, other.name)
		}
	}
	r.peerClient.Follow(others)
	return true
}

func (s *simulation) deliverRequest(a Action) bool {
	p := s.proxy(a.N)
	if p == nil || p.link == nil || p.link.end.paused {
		return false
	}
	if requests, _ := p.link.waiting(); requests == 0 {
		return false
	}
	s.logf("%s sends %s", p.name, describeRequest(p.link.requests[0]))
	p.link.deliverRequest()
	return true
}

func (s *simulation) deliverResponse(a Action) bool {
	p := s.proxy(a.N)
	if p == nil || p.link == nil {
		return false
	}
	if _, responses := p.link.waiting(); responses == 0 {
		return false
	}
	m := p.link.takeResponse()
	s.logf("%s receives %s", p.name, describe(m))
	s.isolated(p, m)
	p.envoy.Receive(m)
	return true
}

// between is the stream from one replica to another, nil if there is none.
func (s *simulation) between(a Action) *link {
	from, to := s.running(a.N), s.running(a.M)
	if from == nil || to == nil {
		return nil
	}
	return from.peerLink(to.name)
}

func (s *simulation) deliverPeerRequest(a Action) bool {
	l := s.between(a)
	if l == nil {
		return false
	}
	if requests, _ := l.waiting(); requests == 0 {
		return false
	}
	l.deliverRequest()
	return true
}

func (s *simulation) deliverPeerResponse(a Action) bool {
	l := s.between(a)
	if l == nil {
		return false
	}
	if _, responses := l.waiting(); responses == 0 {
		return false
	}
	l.arrivedResponses <- l.takeResponse()
	return true
}
