package xds

import (
	"maps"
	"slices"
	"strings"
)

// blame finds out what of a refused response is at fault, and sees to it that the rest is not held back. It is called without locks.
//
// Envoy applies clusters and listeners one by one and names those it refuses. Of other types it says only what is wrong, and what of the response it
// did take is not known: if there was more than one, they are sent again in halves until one is left. A route table is then taken apart; see probe.go.
func (s *stream) blame(t Type, d *delivery, reason string) {
	guilty := guilty(d, reason)
	s.mu.Lock()
	own := &s.subscriptions[t]
	if len(guilty) == 0 {
		own.suspect(d)
	}
	for _, name := range guilty {
		own.doubt(name, d.versions[name])
		switch t {
		case RouteTable:
			s.searchTable(name, d.tables[name], reason)
		case Scope:
			s.searchScope(d, name, reason)
		default:
		}
	}
	s.mu.Unlock()
	if t == RouteTable || t == Scope || t == Endpoints {
		return
	}
	for _, name := range guilty {
		s.refused(t, name, d.versions[name], reasonOf(name, reason))
	}
}

// refused has all proxies go on with the last good version.
func (s *stream) refused(t Type, name, version, reason string) {
	s.observer.Refused(s.identity, Refusal{Type: t, Name: name, Version: version, Reason: reason})
	s.group.mu.Lock()
	s.group.refuse(t, name, version)
	s.group.mu.Unlock()
}

// guilty are the resources that are to blame for a refusal, none if that can not be told.
func guilty(d *delivery, reason string) []string {
	var sent, named []string
	for _, name := range slices.Sorted(maps.Keys(d.versions)) {
		if d.versions[name] == "" {
			continue
		}
		sent = append(sent, name)
		if strings.Contains(reason, name+": ") {
			named = append(named, name)
		}
	}
	if len(sent) == 1 {
		return sent
	}
	return named
}

// reasonOf is what a refusal says of one resource, if it speaks of several: each is on a line of its own, or behind a comma, after its name.
func reasonOf(name, reason string) string {
	_, own, found := strings.Cut(reason, name+": ")
	if !found {
		return strings.TrimSpace(reason)
	}
	own, _, _ = strings.Cut(own, "\n")
	return strings.TrimSpace(own)
}

// suspect has everything of a response sent again, no more than half of it at once.
func (s *subscription) suspect(d *delivery) {
	count := 0
	for name, version := range d.versions {
		if version == "" || s.sent[name] != version {
			continue
		}
		count++
		s.sent[name] = ""
		s.careful[name] = struct{}{}
		s.changed[name] = struct{}{}
	}
	s.quota = max(1, count/2)
}
