package simulation

import "fmt"

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
	// State describes that state as far as it is visible, to check that one name does not stand for two.
	State string
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
		if s.problem != "" {
			break
		}
		for _, who := range s.concerned(a) {
			seen[who] += a.String() + ";"
		}
		used[a.String()] = true
		if !s.perform(a) {
			panic(fmt.Sprintf("%s was offered and is not possible", a))
		}
	}
	n := Node{Actions: actions, State: s.state()}
	for _, who := range s.participants() {
		n.Seen += who + "{" + seen[who] + "}"
	}
	if s.problem == "" {
		n.Next = s.next(used)
		s.perform(Action{Verb: settle})
	}
	n.Result = Result{Config: small, Actions: append(append(
		[]Action{{Verb: settle}}, actions...,
	), Action{Verb: settle}), Log: s.log, Problem: s.problem}
	return n
}

// next are the possible actions: all deliveries, replicas that notice the end of a stream, and what is left of the script.
func (s *simulation) next(used map[string]bool) []Action {
	var all []Action
	s.offerDeliveries(func(_ int, a Action) {
		switch a.Verb {
		case fail, relist, cutPeer, report:
		default:
			all = append(all, a)
		}
	})
	for i := range s.orphans {
		all = append(all, Action{Verb: notice, N: i})
	}
	for _, a := range script {
		if !used[a.String()] {
			all = append(all, a)
		}
	}
	return all
}

const apiServerName = "api"

func replicaName(i int) string { return fmt.Sprint("r", i) }
func proxyName(i int) string   { return fmt.Sprint("p", i) }

// participants are the API server, with what conditions promise, all replicas and all proxies.
func (s *simulation) participants() []string {
	all := append([]string{apiServerName}, s.replicaNames()...)
	for i := range s.proxies {
		all = append(all, proxyName(i))
	}
	return all
}

func (s *simulation) replicaNames() []string {
	var all []string
	for i := range s.replicas {
		all = append(all, replicaName(i))
	}
	return all
}

// concerned are the participants whose state an action reads or changes. What is under way waits in a queue with one sender and one
// receiver. So a delivery concerns the receiver only, and what is sent the sender only. There must be at least one.
func (s *simulation) concerned(a Action) []string {
	switch a.Verb {
	case putRoute, deleteRoute:
		// Replicas learn of it by a watch event.
		return []string{apiServerName}
	case watch, assign:
		return []string{replicaName(a.N)}
	case handle:
		return []string{replicaName(a.N), apiServerName}
	case request1:
		return []string{replicaName(s.proxies[a.N].link.end.number)}
	case response1:
		return []string{proxyName(a.N)}
	case cut:
		// The replica notices it later. Which one a notice means depends on the order of cuts.
		return []string{proxyName(a.N), replicaName(s.proxies[a.N].link.end.number)}
	case notice:
		return []string{replicaName(s.orphans[a.N].end.number)}
	case connect:
		// What was promised, and what replicas have decided, is dropped if events have not arrived yet.
		return append(s.replicaNames(), apiServerName, proxyName(a.N))
	case peerRequest1, peerResponse1:
		return []string{replicaName(a.N), replicaName(a.M)}
	case sleep:
		return s.participants()
	default:
		panic(fmt.Sprintf("it is not known whom %s concerns", a))
	}
}

// Frontier hands out the beginnings that have not been tried, shorter ones first. The same ones come in the same order each time, however
// many are tried at once.
type Frontier struct {
	queue [][]Action
	// seen are the states that are known, by name.
	seen map[string]string
	// Tried counts the beginnings that were tried, by length, and Same those of them that led to a known state.
	Tried, Same []int
}

// NewFrontier begins with the empty beginning.
func NewFrontier() *Frontier { return &Frontier{queue: [][]Action{nil}, seen: map[string]string{}} }

// Take returns the next beginnings, at most so many. There are none when everything has been tried.
func (f *Frontier) Take(most int) [][]Action {
	most = min(most, len(f.queue))
	next := f.queue[:most]
	f.queue = f.queue[most:]
	return next
}

// Done takes where a beginning led to. The caller passes them in the order in which they were taken. It returns an error if the beginning
// counts as one that led to another state.
func (f *Frontier) Done(n Node) error {
	for len(f.Tried) <= len(n.Actions) {
		f.Tried, f.Same = append(f.Tried, 0), append(f.Same, 0)
	}
	f.Tried[len(n.Actions)]++
	if state, known := f.seen[n.Seen]; known {
		f.Same[len(n.Actions)]++
		if state != n.State {
			return fmt.Errorf("%v counts as %s and leads to\n%s\nanother beginning led to\n%s", n.Actions, n.Seen, n.State, state)
		}
		return nil
	}
	f.seen[n.Seen] = n.State
	for _, a := range n.Next {
		f.queue = append(f.queue, append(append([]Action{}, n.Actions...), a))
	}
	return nil
}

// Depth is the length up to which everything has been tried.
func (f *Frontier) Depth() int {
	if len(f.queue) == 0 {
		return len(f.Tried) - 1
	}
	return len(f.queue[0]) - 1
}
