package authority

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pki"
)

// CARotator makes the Secret and rotates what it holds; only the leader runs one. A Secret that is corrupt is left alone, since an
// administrator must decide whether to repair or to delete it. One that was deleted is written again as it was known, so that deleting
// it by mistake does no harm; to begin with a new authority, stop the control plane first.
type CARotator struct {
	Client client.Client
	// Reader must not be a cache, which could show what was there before.
	Reader    client.Reader
	Namespace string
	Source    *Source
	Lifetimes pki.Lifetimes
	Now       func() time.Time
	Log       *slog.Logger
}

// Start keeps the Secret until the context ends.
func (r *CARotator) Start(ctx context.Context) error {
	repeat(ctx, r.Log, r.rotate)
	return nil
}

func (r *CARotator) rotate(ctx context.Context) (time.Duration, error) {
	secret, err := read(ctx, r.Reader, r.Namespace)
	if err != nil {
		return 0, err
	}
	var stored *pki.Authority
	if secret != nil {
		if stored, err = pki.Unmarshal(secret.Data); err != nil {
			return 0, fmt.Errorf(
				"reading the certificate authority from Secret %s/%s, which must be repaired or deleted: %w", r.Namespace, SecretName, err,
			)
		}
	}
	from := stored
	if from == nil {
		from = r.Source.Authority()
	}
	now := r.Now()
	authority, changed, err := pki.Advance(from, r.Lifetimes, now)
	if err != nil {
		return 0, fmt.Errorf("advancing the certificate authority: %w", err)
	}
	if changed || stored == nil {
		if secret, err = r.write(ctx, secret, authority); err != nil {
			return 0, err
		}
		r.Log.Info("certificate authority written", "nextChange", authority.Due(r.Lifetimes))
	}
	if err := r.Source.Update(secret.Data); err != nil {
		return 0, err
	}
	return until(authority, r.Lifetimes, now), nil
}

// write creates the Secret or changes exactly the version that was read, so that of two leaders one fails and reads again.
func (r *CARotator) write(ctx context.Context, secret *corev1.Secret, authority *pki.Authority) (*corev1.Secret, error) {
	data, err := authority.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encoding the certificate authority: %w", err)
	}
	if secret == nil {
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: r.Namespace,
				Name:      SecretName,
				Labels:    map[string]string{ir.ManagedByLabel: ir.ManagedBy},
			},
			Data: data,
		}
		if err := r.Client.Create(ctx, secret); err != nil {
			return nil, fmt.Errorf("creating Secret %s/%s: %w", r.Namespace, SecretName, err)
		}
		return secret, nil
	}
	secret = secret.DeepCopy()
	secret.Data = data
	if err := r.Client.Update(ctx, secret); err != nil {
		return nil, fmt.Errorf("updating Secret %s/%s: %w", r.Namespace, SecretName, err)
	}
	return secret, nil
}
