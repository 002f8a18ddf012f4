package xds

import (
	"iter"
	"maps"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

const wildcardName = "*"

type set = map[string]struct{}

// subscription is the state of one type on one stream: what the proxy wants, has, has answered and is still to be sent. What is still
// to be sent is a set of names, never a queue, so a proxy that does not read costs no more than one that does.
type subscription struct {
	active   bool
	wildcard bool
	names    set
	// joined reports that an update cycle has begun since the proxy subscribed, which sends it everything of the type.
	joined bool
	// begun reports that the proxy has had resources of the type, or a response, even an empty one. Envoy begins to serve after its first
	// response with listeners.
	begun bool

	// sent is the version of each resource that was sent last. A proxy that NACKed it keeps the previous one, and is not sent the same
	// version again.
	sent map[string]string
	// nacked is the NACKed version of each resource, as long as it is the one sent last.
	nacked map[string]string
	// accepted are the parts of each route table that the proxy acknowledged last.
	accepted map[string]tableParts
	// unacked are the clusters that were sent and never acknowledged, held are the resources that wait for some of them, and limited are
	// those versions that wait for a limited time; see missing_clusters.go.
	unacked map[string]newCluster
	held    map[string]heldResource
	limited map[string]limitedWait
	// unattributed are names of which some were NACKed together, without a known culprit. At most quota of them are sent at once.
	unattributed set
	quota        int
	// salt makes the bytes of scopes and secrets differ from those that the proxy may have recorded without using them; see salt.go.
	salt string
	// parts are the parts of a response that are still to be sent; see parts.go.
	parts []*response
	// unanswered are the responses that the proxy has neither acknowledged nor NACKed, oldest first.
	unanswered []*delivery

	// asked are names that the proxy requested, does not have, and waits for.
	asked set
	// changed are wanted names whose version may differ from the one sent.
	changed set
	// removed are names that were sent and do not exist any more.
	removed set
	// absent are names that were requested and do not exist. The proxy gets a removal at once, so that it does not wait.
	absent set
	// unknown are the names that the proxy subscribed to before they existed, and unknownBytes their length; see unknown_names.go.
	unknown      set
	unknownBytes int
	// owed reports that the proxy waits for a response, even an empty one.
	owed bool

	// out takes one response; it is nil until the next request or answer of the proxy.
	out chan cachev3.DeltaResponse
}

// delivery is the content of one response: a version for each name, empty if it was removed.
type delivery struct {
	nonce    string
	versions map[string]string
	// sent is when it was passed to the stream, and late reports that other changes went on without the answer.
	sent time.Time
	late bool
	// named and tables are the resources themselves, without the bytes of the tables.
	named  []*namedResource
	tables map[string]tableParts
	// probe reports that its resources are probes of a bisection.
	probe bool
}

func (s *subscription) wants(name string) bool {
	if s.wildcard {
		return true
	}
	_, ok := s.names[name]
	return ok
}

// update handles a request. all are the names that exist.
func (s *subscription) update(request *discoveryv3.DeltaDiscoveryRequest, wildcard bool, exists func(string) bool, all iter.Seq[string]) {
	first := !s.active
	if first {
		s.active = true
		s.names = set{}
		s.sent = map[string]string{}
		maps.Copy(s.sent, request.GetInitialResourceVersions())
		s.begun = len(s.sent) > 0
		s.salt = newSalt()
		s.asked, s.changed, s.removed, s.absent, s.unattributed, s.unknown = set{}, set{}, set{}, set{}, set{}, set{}
		s.nacked, s.accepted = map[string]string{}, map[string]tableParts{}
		s.unacked, s.held = map[string]newCluster{}, map[string]heldResource{}
	}
	for _, name := range request.GetResourceNamesSubscribe() {
		if name == wildcardName {
			continue
		}
		s.names[name] = struct{}{}
		if !first {
			// A client may request again what it has dropped, and must get it.
			delete(s.sent, name)
		}
		there := exists(name)
		s.noteUnknown(name, !there)
		s.ask(name, there)
	}
	for _, name := range request.GetResourceNamesUnsubscribe() {
		if _, ok := s.names[name]; !ok {
			continue
		}
		delete(s.names, name)
		s.noteUnknown(name, false)
		s.forget(name)
		if wildcard {
			// The protocol requires an answer about what only the wildcard covers now.
			s.ask(name, exists(name))
		}
	}
	if !first && wildcard && slices.Contains(request.GetResourceNamesSubscribe(), wildcardName) {
		// It has dropped everything and requests it again; Envoy may do both in one request.
		s.wildcard = false
		clear(s.sent)
	}
	s.setWildcard(wildcard, first, exists, all)
}

func (s *subscription) setWildcard(wildcard, first bool, exists func(string) bool, all iter.Seq[string]) {
	switch before := s.wildcard; {
	case wildcard && !before:
		s.wildcard = true
		s.owed = s.owed || len(s.sent) == 0
		for name := range all {
			s.changed[name] = struct{}{}
		}
		for name := range s.sent {
			if !exists(name) {
				s.removed[name] = struct{}{}
			}
		}
	case !wildcard && (before || first):
		s.wildcard = false
		for _, known := range []iter.Seq[string]{maps.Keys(s.sent), maps.Keys(s.changed), maps.Keys(s.removed)} {
			for _, name := range slices.Collect(known) {
				if !s.wants(name) {
					s.forget(name)
				}
			}
		}
	}
}

// ask records that the proxy is to get an answer about a name in any case.
func (s *subscription) ask(name string, exists bool) {
	_, held := s.sent[name]
	switch {
	case held:
		s.mark(name, exists)
	case exists:
		s.asked[name] = struct{}{}
		delete(s.absent, name)
	default:
		s.absent[name] = struct{}{}
	}
}

// mark records that a wanted name has changed, or is gone.
func (s *subscription) mark(name string, exists bool) {
	if exists {
		s.noteUnknown(name, false)
	}
	_, asked := s.asked[name]
	_, changed := s.changed[name]
	_, named := s.names[name]
	_, held := s.sent[name]
	switch {
	case exists && asked:
		return
	case exists && named && !held:
		s.asked[name] = struct{}{}
		delete(s.absent, name)
		return
	case exists:
		s.changed[name] = struct{}{}
		delete(s.removed, name)
		delete(s.absent, name)
		return
	case held:
		s.removed[name] = struct{}{}
	case (asked || changed) && named:
		s.absent[name] = struct{}{}
	}
	delete(s.asked, name)
	delete(s.changed, name)
}

func (s *subscription) forget(name string) {
	delete(s.sent, name)
	delete(s.nacked, name)
	delete(s.unacked, name)
	delete(s.held, name)
	delete(s.limited, name)
	delete(s.unattributed, name)
	delete(s.accepted, name)
	delete(s.asked, name)
	delete(s.changed, name)
	delete(s.removed, name)
	delete(s.absent, name)
}

// ready reports whether a response can be sent without waiting. Only the stream takes from out, and writers hold the stream's lock.
func (s *subscription) ready() bool { return len(s.parts) == 0 && s.open() }

// open reports whether the next part of a response can be sent.
func (s *subscription) open() bool {
	return s.out != nil && len(s.out) < cap(s.out) && len(s.unanswered) < maxUnanswered
}

// waiting reports whether the proxy waits for an answer about names that it requested.
func (s *subscription) waiting() bool { return len(s.asked) > 0 || len(s.absent) > 0 }

// takeAnswers adds what the proxy waits for to a response. What exists but is not in lookup yet is kept for later.
func (s *subscription) takeAnswers(r *response, lookup func(string) versioned) {
	if len(s.asked) > 0 {
		// A map never shrinks, and a loop over an empty one costs what it once held. So the rest goes into another one.
		later := set{}
		for _, name := range slices.Sorted(maps.Keys(s.asked)) {
			if resource := lookup(name); resource != nil {
				s.put(r, name, resource)
			} else {
				later[name] = struct{}{}
			}
		}
		s.asked = later
	}
	if len(s.absent) > 0 {
		for name := range s.absent {
			r.remove(name)
		}
		s.absent = set{}
	}
}

// takeChanges adds what differs from what the proxy has to a response, except for what waits.
func (s *subscription) takeChanges(r *response, lookup func(string) versioned, waits func(resource versioned, replaces bool) bool) {
	if len(s.changed) == 0 {
		return
	}
	later, quota := set{}, s.quota
	for _, name := range slices.Sorted(maps.Keys(s.changed)) {
		resource := lookup(name)
		before, replaces := s.sent[name]
		if resource == nil || before == resource.Version() {
			delete(s.held, name)
			continue
		}
		if waits(resource, replaces) {
			later[name] = struct{}{}
			continue
		}
		if _, unattributed := s.unattributed[name]; unattributed {
			if quota--; quota < 0 {
				later[name] = struct{}{}
				continue
			}
		}
		s.put(r, name, resource)
	}
	s.changed = later
}

// put adds a resource to a response and marks it as sent.
func (s *subscription) put(r *response, name string, resource versioned) {
	before, replaces := s.sent[name]
	if replaces {
		r.before[name] = before
	}
	if _, unacked := s.unacked[name]; r.typ == Cluster && (unacked || !replaces) {
		s.unacked[name] = newCluster{}
	}
	delete(s.held, name)
	if s.limited[name].version != resource.Version() {
		delete(s.limited, name)
	}
	s.sent[name] = resource.Version()
	r.add(name, resource)
}

// takeBack undoes a response that was not sent. Its resources may have changed since.
func (s *subscription) takeBack(r *response) {
	s.owed = s.owed || r.owed || len(r.versions) == 0
	for name, version := range r.versions {
		before, held := r.before[name]
		_, returned := s.changed[name]
		switch {
		case version == "" && !held:
			s.absent[name] = struct{}{}
			continue
		case version == "" && !returned:
			s.removed[name] = struct{}{}
		case version != "":
			s.changed[name] = struct{}{}
		}
		if delete(s.sent, name); held {
			s.sent[name] = before
		} else {
			delete(s.unacked, name)
		}
	}
}

// takeRemovals adds the removal of those names that are still to be removed to a response.
func (s *subscription) takeRemovals(r *response, names []string) {
	for _, name := range names {
		if _, still := s.removed[name]; still {
			r.before[name] = s.sent[name]
			delete(s.sent, name)
			delete(s.nacked, name)
			delete(s.unacked, name)
			delete(s.held, name)
			delete(s.limited, name)
			delete(s.unattributed, name)
			delete(s.removed, name)
			r.remove(name)
		}
	}
	if len(names) > 0 && len(s.removed) == 0 {
		s.removed = set{}
	}
}

// finish returns the response if it has content, or if the proxy waits even for an empty one.
func (s *subscription) finish(r *response) *response {
	if len(r.versions) == 0 && !s.owed {
		return nil
	}
	r.owed, s.owed = s.owed, false
	return r
}

// send passes a response to the stream. The subscription is not ready again before the proxy's next request.
func (s *subscription) send(r *response) {
	// After a NACK, the rest of a response needs another salt.
	r.salt, r.sent = s.salt, time.Now()
	s.begun = true
	s.unanswered = append(s.unanswered, &r.delivery)
	s.out <- r
	s.out = nil
}

// sentAs sets the nonce of the oldest response without one.
func (s *subscription) sentAs(nonce string) {
	for _, d := range s.unanswered {
		if d.nonce == "" {
			d.nonce = nonce
			return
		}
	}
}

// answered returns the response that the proxy answered, nil if the nonce is not known. An answer covers all responses before it.
func (s *subscription) answered(nonce string, nacked bool) *delivery {
	i := slices.IndexFunc(s.unanswered, func(d *delivery) bool { return d.nonce == nonce })
	if nonce == "" || i < 0 {
		return nil
	}
	d := s.unanswered[i]
	for _, before := range s.unanswered[:i] {
		s.markUsed(before)
	}
	s.unanswered = slices.Delete(s.unanswered, 0, i+1)
	if !nacked {
		s.markACKed(d)
	}
	return d
}
