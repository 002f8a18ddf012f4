package pki

import (
	"errors"
	"time"
)

// Lifetimes says how long certificates live and when they are replaced. Tests inject small ones; [DefaultLifetimes] gives the reasons.
type Lifetimes struct {
	// CA is the life of a certificate authority.
	CA time.Duration
	// Overlap is how long before the end of the current authority its successor joins the trust bundle.
	Overlap time.Duration
	// Learn is how long a successor is trusted before it signs. A peer whose bundle is at most this old trusts whatever it is shown.
	Learn time.Duration
	// Server is the life of a control plane replica's certificate.
	Server time.Duration
	// Backdate is how far before its making a certificate becomes valid, so that a clock that runs behind accepts it.
	Backdate time.Duration
}

const day = 24 * time.Hour

// DefaultLifetimes are the lifetimes of production.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{
		// A year: rotation happens often enough to be trusted, seldom enough to be invisible.
		CA: 365 * day,
		// A third of the year, so that a control plane that was off for a season still rotates in order.
		Overlap: 120 * day,
		// A kubelet brings a changed ConfigMap into a pod within minutes; a week also covers a leader that was down over a weekend.
		Learn: 7 * day,
		// A server's certificate never leaves its process and costs nothing to make, so it lives shortly.
		Server: day,
		// Clocks of a cluster's nodes agree within seconds; five minutes forgives a broken one.
		Backdate: 5 * time.Minute,
	}
}

// Check says whether the lifetimes allow rotation in order: whatever an authority signed must end before the authority does.
func (l Lifetimes) Check() error {
	switch {
	case l.Server <= 0 || l.Learn <= 0 || l.Backdate < 0:
		return errors.New("certificate lifetimes must be positive")
	case l.Overlap < l.Learn+l.Server:
		return errors.New("the overlap of two certificate authorities must be at least the time to learn the new one and the life of a leaf")
	case l.CA <= l.Overlap+l.Learn:
		return errors.New("a certificate authority must live longer than the overlap with its successor and the time to learn it")
	}
	return nil
}

// renewAt is the moment at which a third of a certificate's life is left.
func renewAt(notBefore, notAfter time.Time) time.Time {
	return notAfter.Add(-notAfter.Sub(notBefore) / 3)
}
