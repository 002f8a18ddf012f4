package authority

import (
	"context"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/pki"
)

// Follower brings what the leader wrote into a [Source]. Every replica runs one.
type Follower struct {
	// Reader must not be a cache: a replica needs the right to read this one Secret only.
	Reader    client.Reader
	Namespace string
	Source    *Source
	Lifetimes pki.Lifetimes
	Now       func() time.Time
	Log       *slog.Logger
}

// Start follows until the context ends.
func (f *Follower) Start(ctx context.Context) error {
	repeat(ctx, f.Log, f.follow)
	return nil
}

// NeedLeaderElection is false: every replica follows.
func (*Follower) NeedLeaderElection() bool { return false }

func (f *Follower) follow(ctx context.Context) (time.Duration, error) {
	secret, err := read(ctx, f.Reader, f.Namespace)
	if err != nil {
		return 0, err
	}
	if secret != nil {
		if err := f.Source.Update(secret.Data); err != nil {
			return 0, err
		}
	}
	authority := f.Source.Authority()
	if authority == nil {
		return retryInterval, nil
	}
	return until(authority, f.Lifetimes, f.Now()), nil
}
