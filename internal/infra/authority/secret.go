package authority

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/pki"
)

const (
	// pollInterval is how often the Secret is read. A replica may be days late, see [pki.Lifetimes.Learn], so there is no need to
	// watch, nor for the right to list Secrets.
	pollInterval = time.Minute
	// retryInterval is how often the Secret is read while it cannot be, or is not there yet.
	retryInterval = time.Second
)

// until is how long to wait before the Secret is read again: to the next change of the authority, but not too long, in case another client
// changes it. With the lifetimes of a test it may be shorter than the usual interval.
func until(authority *pki.Authority, lives pki.Lifetimes, now time.Time) time.Duration {
	return min(pollInterval, max(lives.Learn/4, retryInterval), max(authority.Due(lives).Sub(now), retryInterval))
}

// read gives the Secret, or nil where there is none.
func read(ctx context.Context, reader client.Reader, namespace string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: SecretName}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Secret %s/%s: %w", namespace, SecretName, err)
	}
	return secret, nil
}

// repeat calls step, which says how long to wait before the next time, until the context ends. It logs an error once for as long as
// it stays the same, and then tries again soon.
func repeat(ctx context.Context, log *slog.Logger, step func(context.Context) (time.Duration, error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	problem := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wait, err := step(ctx)
		switch {
		case err == nil:
			problem = ""
		case ctx.Err() != nil:
			return
		default:
			if err.Error() != problem {
				problem = err.Error()
				log.Error("certificate authority not up to date, trying again", "error", err)
			}
			wait = retryInterval
		}
		timer.Reset(wait)
	}
}
