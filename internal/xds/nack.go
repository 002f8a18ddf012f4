package xds

import (
	"slices"
	"strings"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/gatewright/gatewright/internal/xds/bisect"
)

// secretReason replaces the reason of a NACK of a secret, which may quote a part of it.
const secretReason = "the proxy rejected it (NACK); its reason is not repeated, since it may quote the secret"

// clipReason shortens the reason of a NACK before it is logged, stored or sent to other replicas.
func clipReason(t Type, detail *rpcstatus.Status) {
	switch {
	case detail == nil:
	case t == Secret:
		detail.Message = secretReason
	case len(detail.GetMessage()) > maxReason:
		// A substring keeps the whole string in memory, so it is copied.
		detail.Message = strings.Clone(strings.ToValidUTF8(detail.GetMessage()[:maxReason], ""))
	}
}

// attribute finds the culprits of a NACKed response, and resends the rest. It returns the resources that are rejected as a whole.
//
// Envoy applies clusters and listeners one by one and names those it rejects. For other types Envoy names no resource and may have applied
// part of the response, so the resources are resent in halves until the culprit is alone. A route table or scope is then bisected.
func (s *stream) attribute(t Type, d *delivery, reason string) []NACK {
	culprits := culprits(t, d, reason)
	own := &s.subscriptions[t]
	if planned := s.cycle.pending[t]; planned != nil {
		planned.forget(d.versions)
	}
	// The proxy may have recorded any part of the response; see salt.go.
	own.salt = newSalt()
	if slices.Contains(referrers, t) {
		// The proxy still uses the previous version, which may refer to what this cycle was about to remove.
		s.cycle.removals = [wireTypes][]string{}
		s.pinned = nil
	}
	if len(culprits) == 0 {
		own.retryInHalves(d)
	}
	if t == Cluster {
		own.markRefused(d, culprits, reason)
	}
	var nacks []NACK
	for _, name := range culprits {
		wanted := own.markNACKed(name, d.versions[name])
		switch {
		case t == RouteTable && wanted:
			s.bisectTable(&bisection{typ: t, name: name, version: d.versions[name], table: name, reason: reason}, d.tables[name])
		case t == Scope && wanted:
			s.bisectScope(&bisection{typ: t, name: name, version: d.versions[name], reason: reason}, d)
		case t == Cluster || t == Listener || t == Secret:
			nacks = append(nacks, NACK{
				Type: t, Name: name, Version: d.versions[name], Reason: bisect.ReasonOf(name, reason), Origins: d.originsOf(name),
			})
		}
	}
	return nacks
}

// originsOf returns the origins of a resource in a response.
func (d *delivery) originsOf(name string) []string {
	for _, resource := range d.named {
		if resource.name == name {
			return resource.origins
		}
	}
	return nil
}

// fallBack reports a NACK and gives all proxies the last good version. It is called without locks.
func (s *stream) fallBack(nack NACK) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	nack.FellBack = s.group.fallsBack(nack.Type, nack.Name, nack.Version)
	s.observer.NACKed(s.identity, nack)
	if nack.FellBack {
		s.group.fallBack(nack.Type, nack.Name)
	}
}

// culprits returns the resources of a response that a NACK rejects, none if that is not known. A NACK of a type other than clusters and
// listeners may name one resource, but the proxy did not apply the others either.
func culprits(t Type, d *delivery, reason string) []string {
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
	return bisect.Named(reason, func(name string) bool { return d.versions[name] != "" })
}

// retryInHalves marks everything of a response to be sent again, at most half of it at once, with different bytes; see salt.go.
func (s *subscription) retryInHalves(d *delivery) {
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
		s.unattributed[name] = struct{}{}
		s.changed[name] = struct{}{}
	}
	s.quota = max(1, count/2)
}

// resend marks a NACKed version to be sent again if it is still wanted, or is wanted again, with different bytes; see salt.go.
func (s *subscription) resend(name, version string) {
	if s.sent[name] != version {
		return
	}
	s.sent[name] = ""
	if _, going := s.removed[name]; !going {
		s.changed[name] = struct{}{}
	}
}
