package simulation

import (
	"fmt"
	"strings"
)

// small is the world whose interleavings are all tried: one Gateway, two proxies, one with the anchor, two routes and two replicas.
var small = Config{Replicas: 2, Gateways: 1, Proxies: 2, Anchored: []bool{true, false}, Routes: []int{0, 1}, Listeners: 1}

// script are the changes and faults that may happen in it, in any order and between any deliveries, each once.
var script = []Action{
	{Verb: putRoute, N: 1, M: 1},
	{Verb: deleteRoute, N: 1},
	{Verb: putRoute, N: 0, M: 1},
	{Verb: cut, N: 0},
	{Verb: cut, N: 1},
	{Verb: sleep, N: 61000},
}

// Node is a beginning of a trace that has been tried.
type Node struct {
	Actions []Action
	// Next are the actions that are possible after it.
	Next []Action
	// Seen names the state that it leads to: what each replica, each proxy and the API server have seen, in order. Two beginnings that
	// differ only in the order of steps that do not concern each other have the same.
	Seen string
	Result
}

// Try performs a beginning of a trace after everything is at rest, and then lets everything settle. It must be called in a bubble of
// synctest.
func Try(actions []Action) Node {
	s := newSimulation(small)
	defer s.end()
	s.perform(Action{Verb: settle})
	seen := map[string]string{}
	used := map[string]bool{}
	for _, a := range actions {
		for _, who := range s.concerned(a) {
			seen[who] += a.String() + ";"
		}
		used[a.String()] = true
		if s.problem == "" {
			s.perform(a)
		}
	}
	n := Node{Actions: actions, Next: s.next(used)}
	for _, who := range []string{"api", "r0", "r1", "p0", "p1"} {
		n.Seen += who + "{" + seen[who] + "}"
	}
	if s.problem == "" {
		s.perform(Action{Verb: settle})
	}
	n.Result = Result{Config: small, Actions: append(append(
		[]Action{{Verb: settle}}, actions...,
	), Action{Verb: settle}), Log: s.log, Problem: s.problem}
	return n
}

// next are the possible actions: all deliveries, and what is left of the script.
func (s *simulation) next(used map[string]bool) []Action {
	var all []Action
	s.offerDeliveries(func(_ int, a Action) {
		switch a.Verb {
		case fail, relist, cutPeer, report:
		default:
			all = append(all, a)
		}
	})
	for _, a := range script {
		if !used[a.String()] {
			all = append(all, a)
		}
	}
	return all
}

// concerned are those who notice an action.
func (s *simulation) concerned(a Action) []string {
	switch a.Verb {
	case watch, assign, members:
		return []string{fmt.Sprint("r", a.N)}
	case handle:
		return []string{fmt.Sprint("r", a.N), "api"}
	case request1:
		if l := s.proxies[a.N].link; l != nil {
			return []string{strings.Join(strings.Split(l.end.name, "-")[:2], "")[len("replica")-1:]}
		}
		return nil
	case response1:
		return []string{fmt.Sprint("p", a.N)}
	case cut:
		return []string{fmt.Sprint("p", a.N)}
	case connect:
		return []string{fmt.Sprint("p", a.N), fmt.Sprint("r", a.M)}
	case peerRequest1, peerResponse1:
		return []string{fmt.Sprint("r", a.N), fmt.Sprint("r", a.M)}
	case sleep:
		return []string{"api", "r0", "r1", "p0", "p1"}
	default:
		return []string{"api"}
	}
}

// Frontier hands out the beginnings that have not been tried, shorter ones first. The same ones come in the same order each time, however
// many are tried at once.
type Frontier struct {
	queue [][]Action
	seen  map[string]bool
	// Tried counts the beginnings that were tried, by length, and Same those that led to a known state.
	Tried []int
	Same  int
}

// NewFrontier begins with the empty beginning.
func NewFrontier() *Frontier { return &Frontier{queue: [][]Action{nil}, seen: map[string]bool{}} }

// Take returns the next beginnings, at most so many. There are none when everything has been tried.
func (f *Frontier) Take(most int) [][]Action {
	most = min(most, len(f.queue))
	next := f.queue[:most]
	f.queue = f.queue[most:]
	return next
}

// Done takes where a beginning led to. The caller passes them in the order in which they were taken.
func (f *Frontier) Done(n Node) {
	for len(f.Tried) <= len(n.Actions) {
		f.Tried = append(f.Tried, 0)
	}
	f.Tried[len(n.Actions)]++
	if f.seen[n.Seen] {
		f.Same++
		return
	}
	f.seen[n.Seen] = true
	for _, a := range n.Next {
		f.queue = append(f.queue, append(append([]Action{}, n.Actions...), a))
	}
}

// Depth is the length up to which everything has been tried.
func (f *Frontier) Depth() int {
	if len(f.queue) == 0 {
		return len(f.Tried) - 1
	}
	return len(f.queue[0]) - 1
}
