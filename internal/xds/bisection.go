package xds

import (
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/xds/bisect"
)

// bisection is the search for the culprits of a NACKed route table or scope at one proxy. Its probes replace the update cycles of that
// proxy until it is complete. Other proxies go on, and this one serves its previous configuration.
//
// A table may be large, so the stream's goroutine evaluates answers and builds probes without a lock. The bisection is preparing
// meanwhile, and only that goroutine uses it.
type bisection struct {
	typ     Type
	name    string
	version string
	table   string
	reason  string
	search  *bisect.Search
	// header is the version of the table without its hosts.
	header string

	// preparing reports that the stream's goroutine works on it, probing that the proxy has not answered the last probes.
	preparing, probing bool
	// answer is the text of the NACK of the last probes, empty for an ACK.
	answer string
	// probes are the listeners of the next step, and used is the highest number of them that the proxy was sent.
	probes []*namedResource
	count  int
	used   int
	// found is the result.
	found []NACK
}

// bisectTable starts a search among the virtual hosts in which the NACKed table differs from the one that the proxy acknowledged last.
func (s *stream) bisectTable(b *bisection, nacked tableParts) {
	accepted := s.subscriptions[RouteTable].accepted[b.table]
	acked := accepted.hosts
	if !sameVersion(accepted.header, nacked.header) {
		// The proxy may reject a host that it has, with this header.
		acked = nil
	}
	hosts := func() (hosts []bisect.Host) {
		nacked.hosts.changed(acked, func(domain string, host *Resource) { hosts = append(hosts, candidate(domain, host)) })
		return hosts
	}
	s.startBisection(b, nacked.header, hosts)
}

// bisectScope starts a search in the virtual hosts of a NACKed scope.
func (s *stream) bisectScope(b *bisection, d *delivery) {
	for _, sent := range d.named {
		nacked, ok := sent.content.(*scope)
		if !ok || sent.name != b.name {
			continue
		}
		table, domain, _ := strings.Cut(b.name, scopeSeparator)
		b.table = table
		if nacked.host == nil {
			s.bisectTable(b, tableParts{header: nacked.header, hosts: nacked.wild})
			return
		}
		s.startBisection(b, nacked.header, func() []bisect.Host { return []bisect.Host{candidate(domain, nacked.host)} })
		return
	}
}

func candidate(domain string, host *Resource) bisect.Host {
	return bisect.Host{Domain: domain, Version: host.version, Config: host.value}
}

// startBisection queues a bisection. There is at most one for each version of a resource, and none for an older version except the one in
// progress. A proxy that NACKs the same version again causes no more work.
func (s *stream) startBisection(b *bisection, header *Resource, hosts func() []bisect.Host) {
	same := func(other *bisection) bool { return other.typ == b.typ && other.name == b.name }
	for _, other := range s.bisections {
		if same(other) && other.version == b.version {
			return
		}
	}
	if len(s.bisections) > 1 {
		s.bisections = append(s.bisections[:1], slices.DeleteFunc(s.bisections[1:], same)...)
	}
	if b.header = header.version; s.headers[b.table].rejected == b.header {
		s.settle(b.typ, b.name, settledNACK{version: b.version, reported: true})
		// The table may have been gone meanwhile, and the report with it.
		s.observer.NACKed(s.identity, NACK{Type: RouteTable, Name: b.table, Version: b.header, Reason: b.reason})
		return
	}
	b.search, b.preparing = bisect.New(header.value, hosts, b.reason), true
	if s.headers[b.table].acked != b.header && !sameVersion(s.subscriptions[RouteTable].accepted[b.table].header, header) {
		b.search.ProbeHeader()
	}
	s.bisections = append(s.bisections, b)
}

// prepareBisections does the work that an answer of the proxy requires. The stream's goroutine calls it, without a lock.
func (s *stream) prepareBisections() {
	for _, b := range s.unprepared() {
		if s.beforeBisection != nil {
			s.beforeBisection()
		}
		b.prepare()
		s.prepared(b)
	}
}

func (s *stream) unprepared() []*bisection {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*bisection
	for _, b := range s.bisections {
		if b.preparing {
			found = append(found, b)
		}
	}
	return found
}

func (s *stream) prepared(b *bisection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.preparing = false
}

// prepare builds the next probes, or the result.
func (b *bisection) prepare() {
	listeners := b.search.Next(b.answer)
	b.count = len(listeners)
	for _, listener := range listeners {
		if probe, err := NewResource(listener); err == nil {
			b.probes = append(b.probes, &namedResource{name: listener.GetName(), content: probe})
		}
	}
	if b.count == 0 {
		b.found = b.result()
	}
}

// result returns a NACK for each culprit, or one for the whole table if there is none.
func (b *bisection) result() []NACK {
	var nacks []NACK
	for _, c := range b.search.Culprits() {
		nacks = append(nacks, NACK{
			Type: VirtualHost, Name: c.Domain, Table: b.table, Version: c.Version, Routes: c.Routes,
			Filters: c.Filters, Together: c.Together, Reason: c.Reason,
		})
	}
	switch {
	case b.search.HeaderRejected():
		return []NACK{{Type: RouteTable, Name: b.table, Version: b.header, Reason: b.reason}}
	case len(nacks) == 0:
		return []NACK{{Type: RouteTable, Name: b.table, Reason: b.reason}}
	default:
		return nacks
	}
}

// takeProbeAnswer records the answer to the last probes.
func (s *stream) takeProbeAnswer(answer string) {
	if len(s.bisections) > 0 && s.bisections[0].probing {
		b := s.bisections[0]
		b.probing, b.preparing, b.answer = false, true, answer
	}
}

// stepBisection continues the first bisection, and reports whether it is complete.
func (s *stream) stepBisection() bool {
	b, own := s.bisections[0], &s.subscriptions[Listener]
	if b.preparing || b.probing || !own.ready() || !s.answered(Listener) {
		return false
	}
	r := newResponse(Listener)
	r.probe = true
	if b.count > 0 {
		for _, probe := range b.probes {
			r.add(probe.name, probe)
		}
		b.probes, b.probing, b.used = nil, true, max(b.used, b.count)
		s.send(Listener, r)
		return false
	}
	for i := range b.used {
		r.remove(bisect.ProbeName(i))
	}
	s.bisections = s.bisections[1:]
	s.reportCulprits(b)
	if b.used > 0 {
		s.send(Listener, r)
	}
	return true
}

// reportCulprits reports the culprits whose version is still wanted. Hosts that have changed since are sent again, also if that version
// comes back.
func (s *stream) reportCulprits(b *bisection) {
	for _, nack := range b.found {
		if nack.Type == RouteTable {
			s.reportTable(b, nack)
			continue
		}
		key := hostKey{b.table, nack.Name}
		switch host := s.group.host(key); {
		case s.group.instead[key].is(nack.Version):
			// It rejects also what it gets instead, and keeps what it has until there is something else.
			s.settle(b.typ, b.name, settledNACK{version: b.version, reported: true})
			s.observer.NACKed(s.identity, nack)
		case host == nil || host.version != nack.Version:
			s.subscriptions[b.typ].resend(b.name, b.version)
		default:
			s.rejects(key, rejection{version: nack.Version})
			s.observer.NACKed(s.identity, nack)
		}
	}
}

// reportTable reports a table of which no host is the culprit. Nothing replaces it: the proxy keeps the hosts that it has, and other tables
// do not wait for it.
func (s *stream) reportTable(b *bisection, nack NACK) {
	if nack.Version != "" {
		if table := s.group.tables[b.table]; table == nil || table.header == nil || table.header.version != nack.Version {
			s.subscriptions[b.typ].resend(b.name, b.version)
			return
		}
		s.noteHeader(b.table, headerState{acked: s.headers[b.table].acked, rejected: nack.Version})
		s.bisections = slices.DeleteFunc(s.bisections, func(other *bisection) bool {
			same := other.table == b.table && other.header == b.header
			if same {
				s.settle(other.typ, other.name, settledNACK{version: other.version, reported: true})
			}
			return same
		})
	}
	s.settle(b.typ, b.name, settledNACK{version: b.version, reported: nack.Version != ""})
	s.observer.NACKed(s.identity, nack)
}
