package xds

import (
	"iter"
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

const wildcardName = "*"

type set = map[string]struct{}

// subscription is what one stream has to do with one type: what the proxy wants, holds, answered and has yet to be told. Whatever it has
// yet to be told is a set of names that exist or that the proxy holds, never a queue, so a proxy that does not read costs no more than
// one that does.
type subscription struct {
	active   bool
	wildcard bool
	names    set
	// joined says that a round has begun since the proxy subscribed, which has told it, or will tell it, everything of the type.
	joined bool
	// begun says that the proxy has had resources of the type, or a response, which may have been empty. It begins to serve when it has had
	// its first response with listeners, whatever is in it.
	begun bool

	// sent is the version of each resource that was sent last. A proxy that refused it keeps what it had before, and is not sent the same
	// version again.
	sent map[string]string
	// doubted is the version of each resource that was refused, as long as it is the one sent last.
	doubted map[string]string
	// accepted is what each route table that the proxy took last is made of.
	accepted map[string]tableParts
	// careful are names of which some were refused together and it is not known which. No more than quota of them are sent at once.
	careful set
	quota   int
	// salt goes into what is sent while the proxy may have recorded resources that it does not use; see salt.go.
	salt string
	// recorded says that a response with several resources was refused, so that the proxy may have recorded any of them for as long as it is
	// not sent other bytes.
	recorded bool
	// parts are those of a response that have yet to be handed over; see parts.go.
	parts []*response
	// unanswered are the responses that the proxy has neither acknowledged nor refused, oldest first.
	unanswered []*delivery

	// asked are names that the proxy asked for, does not hold, and waits for.
	asked set
	// changed are wanted names whose version may differ from the one sent.
	changed set
	// removed are names that were sent and exist no more.
	removed set
	// absent are names that were asked for and do not exist, which the proxy is told at once so that it does not wait.
	absent set
	// unknown are the names that the proxy subscribed to although they did not exist, and unknownBytes how long they are; see
	// unknown_names.go.
	unknown      set
	unknownBytes int
	// owed says that the proxy waits for a response, even an empty one.
	owed bool

	// out takes one response; it is nil until the proxy asks, or answers, again.
	out chan cachev3.DeltaResponse
}

// delivery is what one response carried: a version for each name, empty if it was removed.
type delivery struct {
	nonce    string
	versions map[string]string
	// named and tables are the resources themselves, without the bytes of the tables.
	named  []*named
	tables map[string]tableParts
	// probe says that its resources are there to be judged, not to be used.
	probe bool
}

func (s *subscription) wants(name string) bool {
	if s.wildcard {
		return true
	}
	_, ok := s.names[name]
	return ok
}

// update follows a request. all lists the names that exist.
func (s *subscription) update(request *discoveryv3.DeltaDiscoveryRequest, wildcard bool, exists func(string) bool, all iter.Seq[string]) {
	first := !s.active
	if first {
		s.active = true
		s.names = set{}
		s.sent = map[string]string{}
		maps.Copy(s.sent, request.GetInitialResourceVersions())
		s.begun = len(s.sent) > 0
		s.salt = newSalt()
		s.asked, s.changed, s.removed, s.absent, s.careful, s.unknown = set{}, set{}, set{}, set{}, set{}, set{}
		s.doubted, s.accepted = map[string]string{}, map[string]tableParts{}
	}
	for _, name := range request.GetResourceNamesSubscribe() {
		if name == wildcardName {
			continue
		}
		s.names[name] = struct{}{}
		if !first {
			// A client may ask again for what it has forgotten, and must be given it.
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
			// The protocol wants an answer about what is now only covered by the wildcard.
			s.ask(name, exists(name))
		}
	}
	if !first && wildcard && slices.Contains(request.GetResourceNamesSubscribe(), wildcardName) {
		// It has let go of everything and asks anew; Envoy may say both in one request.
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

// ask records that the proxy is to be told about a name in any case.
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

// mark records that a wanted name is different, or gone.
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
	delete(s.doubted, name)
	delete(s.careful, name)
	delete(s.accepted, name)
	delete(s.asked, name)
	delete(s.changed, name)
	delete(s.removed, name)
	delete(s.absent, name)
}

// ready says whether a response can be handed over without waiting. Only the stream takes from out, and whoever puts into it holds the
// stream's lock.
func (s *subscription) ready() bool { return len(s.parts) == 0 && s.open() }

// open says whether the next part of a response can be handed over.
func (s *subscription) open() bool {
	return s.out != nil && len(s.out) < cap(s.out) && len(s.unanswered) < maxUnanswered
}

// waiting says whether the proxy waits for an answer about names it asked for.
func (s *subscription) waiting() bool { return len(s.asked) > 0 || len(s.absent) > 0 }

// takeAnswers puts into a response what the proxy waits for. What exists but is not to be had from lookup yet is kept for later.
func (s *subscription) takeAnswers(r *response, lookup func(string) versioned) {
	if len(s.asked) > 0 {
		// A map never gets smaller, and going through an empty one costs what it once held; so what is left goes into another one.
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

// takeChanges puts into a response what is different from what the proxy holds.
func (s *subscription) takeChanges(r *response, lookup func(string) versioned) {
	if len(s.changed) == 0 {
		return
	}
	later, quota := set{}, s.quota
	for _, name := range slices.Sorted(maps.Keys(s.changed)) {
		resource := lookup(name)
		if resource == nil || s.sent[name] == resource.Version() {
			continue
		}
		if _, careful := s.careful[name]; careful {
			if quota--; quota < 0 {
				later[name] = struct{}{}
				continue
			}
		}
		s.put(r, name, resource)
	}
	s.changed = later
}

// put regards a resource as sent.
func (s *subscription) put(r *response, name string, resource versioned) {
	if before, held := s.sent[name]; held {
		r.before[name] = before
	}
	s.sent[name] = resource.Version()
	r.add(name, resource)
}

// takeBack regards a response as never made. What it says may have changed since.
func (s *subscription) takeBack(r *response) {
	s.owed = s.owed || len(r.versions) == 0
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
		}
	}
}

// takeRemovals puts the removal of those names into a response that are still to be removed.
func (s *subscription) takeRemovals(r *response, names []string) {
	for _, name := range names {
		if _, still := s.removed[name]; still {
			r.before[name] = s.sent[name]
			delete(s.sent, name)
			delete(s.doubted, name)
			delete(s.careful, name)
			delete(s.removed, name)
			r.remove(name)
		}
	}
	if len(names) > 0 && len(s.removed) == 0 {
		s.removed = set{}
	}
}

// finish returns the response if there is anything in it, or if the proxy waits even for an empty one.
func (s *subscription) finish(r *response) *response {
	if len(r.versions) == 0 && !s.owed {
		return nil
	}
	s.owed = false
	return r
}

// hand passes a response to the stream. The subscription is not ready again before the proxy's next request.
func (s *subscription) hand(r *response) {
	if s.salt != "" {
		// After a NACK, what is left of a response needs another salt than it has.
		r.salt = s.salt
	}
	s.begun = true
	s.unanswered = append(s.unanswered, &r.delivery)
	s.out <- r
	s.out = nil
}

// sentAs gives the oldest response that has none its nonce.
func (s *subscription) sentAs(nonce string) {
	for _, d := range s.unanswered {
		if d.nonce == "" {
			d.nonce = nonce
			return
		}
	}
}

// answered returns what the proxy answered to, nil if the nonce is not known. An answer covers all responses before it.
func (s *subscription) answered(nonce string, refused bool) *delivery {
	i := slices.IndexFunc(s.unanswered, func(d *delivery) bool { return d.nonce == nonce })
	if nonce == "" || i < 0 {
		return nil
	}
	d := s.unanswered[i]
	s.unanswered = slices.Delete(s.unanswered, 0, i+1)
	if !refused {
		s.trust(d)
	}
	return d
}
