package simulation

import (
	"slices"
	"time"
)

// What should not happen, and what follows from it.

func (s *simulation) cutProxy(a Action) bool {
	p := s.proxy(a.N)
	if p == nil || p.link == nil {
		return false
	}
	s.leave(p)
	return true
}

// noticeCut has a replica see that a stream is over.
func (s *simulation) noticeCut(a Action) bool {
	if a.N >= len(s.orphans) || s.orphans[a.N].end.paused {
		return false
	}
	s.orphans[a.N].cancel()
	s.orphans = slices.Delete(s.orphans, a.N, a.N+1)
	return true
}

func (s *simulation) connectProxy(a Action) bool {
	p, r := s.proxy(a.N), s.running(a.M)
	if p == nil || p.link != nil || r == nil {
		return false
	}
	s.connect(p, r)
	return true
}

func (s *simulation) restartEnvoy(a Action) bool {
	p := s.proxy(a.N)
	if p == nil {
		return false
	}
	s.dropClaims(func(c claim) bool { return c.proxy == a.N })
	s.restart(p)
	return true
}

func (s *simulation) cutReplicas(a Action) bool {
	l := s.between(a)
	if l == nil {
		return false
	}
	l.cancel()
	return true
}

func (s *simulation) pauseReplica(a Action) bool {
	r := s.running(a.N)
	if r == nil {
		return false
	}
	r.paused = true
	return true
}

// resumeReplica has a replica go on. That its lease is lost is the first thing it learns.
func (s *simulation) resumeReplica(a Action) bool {
	r := s.replicas[a.N]
	if r == nil || !r.paused {
		return false
	}
	r.paused = false
	if r.lost {
		r.lost = false
		r.follow()
		s.wait()
	}
	return true
}

func (s *simulation) crashReplica(a Action) bool {
	if s.replicas[a.N] == nil {
		return false
	}
	s.crash(a.N)
	return true
}

func (s *simulation) startAgain(a Action) bool {
	if s.replicas[a.N] != nil {
		return false
	}
	s.startReplica(a.N)
	return true
}

// moveLease gives the lease to another replica, or to none.
func (s *simulation) moveLease(a Action) bool {
	if a.N == s.leader || a.N >= 0 && s.running(a.N) == nil {
		return false
	}
	s.elect(a.N)
	return true
}

func (s *simulation) pass(a Action) bool {
	s.sleep(time.Duration(a.N) * time.Millisecond)
	return true
}

func (s *simulation) rest(Action) bool {
	s.settle()
	return true
}
