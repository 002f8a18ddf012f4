package xds

import (
	"maps"
	"slices"
	"strings"
)

// blame finds out what of a refused response is at fault, and sees to it that the rest is not held back. It returns the resources that are
// refused as a whole.
//
// Envoy applies clusters and listeners one by one and names those it refuses. Of other types it says only what is wrong, and what of the response it
// did take is not known: if there was more than one, they are sent again in halves until one is left. A route table is then taken apart; see probe.go.
func (s *stream) blame(t Type, d *delivery, reason string) []Refusal {
	guilty := guilty(t, d, reason)
	own := &s.subscriptions[t]
	if slices.Contains(users, t) {
		// What was refused has not replaced what the proxy uses, and that may use what this round was about to remove.
		s.round.removals = [wireTypes][]string{}
		s.kept = nil
	}
	if len(guilty) == 0 {
		own.suspect(d)
	}
	var refused []Refusal
	for _, name := range guilty {
		wanted := own.doubt(name, d.versions[name])
		switch {
		case t == RouteTable && wanted:
			s.searchTable(name, d.tables[name], reason)
		case t == Scope && wanted:
			s.searchScope(d, name, reason)
		case t == Cluster || t == Listener || t == Secret:
			refused = append(refused, Refusal{Type: t, Name: name, Version: d.versions[name], Reason: reasonOf(name, reason)})
		}
	}
	return refused
}

// refused has all proxies go on with the last good version. It is called without locks.
func (s *stream) refused(r Refusal) {
	s.observer.Refused(s.identity, r)
	s.group.mu.Lock()
	s.group.refuse(r.Type, r.Name, r.Version)
	s.group.mu.Unlock()
}

// guilty are the resources that are to blame for a refusal, none if that can not be told. Of types other than clusters and listeners a
// refusal may mention one, but the others in the response were not applied either.
func guilty(t Type, d *delivery, reason string) []string {
	var sent, named []string
	for _, name := range slices.Sorted(maps.Keys(d.versions)) {
		if d.versions[name] == "" {
			continue
		}
		sent = append(sent, name)
		if (t == Cluster || t == Listener) && mention(name, reason) >= 0 {
			named = append(named, name)
		}
	}
	if len(sent) == 1 {
		return sent
	}
	return named
}

// mention is where a NACK says what is wrong with a resource of that name, -1 if it does not. Each is on a line of its own, or behind a
// comma, after the name; the first follows "Error adding/updating cluster(s)". A name in the middle of a text is part of another one, or of
// what a user wrote.
func mention(name, reason string) int {
	for from := 0; ; {
		i := strings.Index(reason[from:], name+": ")
		if i < 0 {
			return -1
		}
		i += from
		before := reason[:i]
		if before == "" || strings.HasSuffix(before, "\n") || strings.HasSuffix(before, ", ") || strings.HasSuffix(before, "(s) ") {
			return i
		}
		from = i + 1
	}
}

// reasonOf is what a refusal says of one resource, if it speaks of several.
func reasonOf(name, reason string) string {
	i := mention(name, reason)
	if i < 0 {
		return strings.TrimSpace(reason)
	}
	own, _, _ := strings.Cut(reason[i+len(name+": "):], "\n")
	return strings.TrimSpace(own)
}

// suspect has everything of a response sent again, no more than half of it at once, and with other bytes; see salt.go.
func (s *subscription) suspect(d *delivery) {
	count := 0
	for name, version := range d.versions {
		if version == "" || s.sent[name] != version {
			continue
		}
		s.sent[name] = ""
		if _, going := s.removed[name]; going {
			continue
		}
		count++
		s.careful[name] = struct{}{}
		s.changed[name] = struct{}{}
	}
	s.quota = max(1, count/2)
	s.salt, s.recorded = newSalt(), true
}
