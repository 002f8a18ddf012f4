package xds

import (
	"slices"
	"strings"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// secretReason stands for the words of a proxy about a secret, which may hold a part of it.
const secretReason = "the proxy refused it; its reason is not repeated, since it may quote the secret"

// clipReason shortens the reason of a NACK before it is logged, stored or sent to other replicas.
func clipReason(t Type, refusal *rpcstatus.Status) {
	switch {
	case refusal == nil:
	case t == Secret:
		refusal.Message = secretReason
	case len(refusal.GetMessage()) > maxReason:
		// A part of a string holds on to all of it, so it is copied.
		refusal.Message = strings.Clone(strings.ToValidUTF8(refusal.GetMessage()[:maxReason], ""))
	}
}

// blame finds out what of a refused response is at fault, and sees to it that the rest is not held back. It returns the resources that are
// refused as a whole.
//
// Envoy applies clusters and listeners one by one and names those it refuses. Of other types it says only what is wrong, and what of the
// response it did take is not known: if there was more than one, they are sent again in halves until one is left. A route table is then
// taken apart; see probe.go.
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
	if t == Secret {
		// Envoy recorded the bytes that it refused; see salt.go.
		own.salt, own.recorded = newSalt(), true
	}
	var refused []Refusal
	for _, name := range guilty {
		wanted := own.doubt(name, d.versions[name])
		switch {
		case t == RouteTable && wanted:
			s.searchTable(&search{typ: t, name: name, version: d.versions[name], table: name, reason: reason}, d.tables[name])
		case t == Scope && wanted:
			s.searchScope(&search{typ: t, name: name, version: d.versions[name], reason: reason}, d)
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
	defer s.group.mu.Unlock()
	s.group.refuse(r.Type, r.Name, r.Version)
}

// guilty are the resources that are to blame for a refusal, none if that can not be told. Of types other than clusters and listeners a
// refusal may mention one, but the others in the response were not applied either.
func guilty(t Type, d *delivery, reason string) []string {
	sent, last := 0, ""
	for name, version := range d.versions {
		if version != "" {
			sent, last = sent+1, name
		}
	}
	if sent == 1 {
		return []string{last}
	}
	if t != Cluster && t != Listener {
		return nil
	}
	named := slices.DeleteFunc(mentions(reason), func(name string) bool { return d.versions[name] == "" })
	slices.Sort(named)
	return slices.Compact(named)
}

// mentions are the texts in a NACK that are where the name of a resource would be; see mention.
func mentions(reason string) []string {
	var names []string
	for line := range strings.Lines(reason) {
		for _, separator := range []string{", ", "(s) "} {
			line = strings.ReplaceAll(line, separator, "\n")
		}
		for part := range strings.Lines(line) {
			if name, _, found := strings.Cut(part, ": "); found {
				names = append(names, name)
			}
		}
	}
	return names
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
