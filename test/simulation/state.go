package simulation

import (
	"fmt"
	"slices"
	"strings"
)

// state describes what is visible of the present state, in lines that have an order: objects, promises, what replicas and proxies have, and
// what is under way.
func (s *simulation) state() string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for what, object := range s.api.objects {
		line("api %v %s", what, object.GetResourceVersion())
	}
	for c, promised := range s.claims {
		line("claim %v %d", c, promised.stamp)
	}
	for i, r := range s.replicas {
		r.describe(func(format string, args ...any) { line(replicaName(i)+" "+format, args...) })
	}
	for _, l := range s.orphans {
		line("%s has not noticed the end of a stream", replicaName(l.end.number))
	}
	for i, p := range s.proxies {
		for slot, sl := range slots {
			if answer := p.envoy.Answer(httpPort, sl.asked); answer != nil {
				line("%s slot %d: %s, version %d", proxyName(i), slot, answer.Name, answer.Generation)
			}
		}
		if p.link == nil {
			continue
		}
		line("%s has a stream to %s", proxyName(i), replicaName(p.link.end.number))
		for n, m := range p.link.requests {
			line("%s request %d: %s", proxyName(i), n, describeRequest(m))
		}
		for n, m := range p.link.responses {
			line("%s response %d: %s %s", proxyName(i), n, m.GetNonce(), describe(m))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// describe names what is visible of a replica, and what is under way to it and from it to others.
func (r *replica) describe(line func(format string, args ...any)) {
	line("state %s", r.cache.Snapshot(groupOf(0)).State)
	for kind, events := range r.pending {
		for n, e := range events {
			version := "gone"
			if e.object != nil {
				version = e.object.GetResourceVersion()
			}
			line("event %s %d: %s %s", kind, n, e.key, version)
		}
	}
	for _, c := range r.calls {
		line("call %s %t", c.name(), c.ctx.Err() == nil)
	}
	line("%d assignments", len(r.assignments))
	for key, d := range r.decisions {
		line("decision %s %d %v", key, d.generation, d.ready)
	}
	for to, l := range r.peers {
		requests, responses := l.waiting()
		line("to %s: %d requests, %d responses", to, requests, responses)
	}
}
