package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pki"
)

// credentials keeps the fleet's certificate while it is good, also over a restart of the control plane, and issues a new one otherwise.
// The authorities that the fleet trusts are always those of today.
func (a *Applier) credentials(ctx context.Context, gateway ir.Gateway, fleet *fleet) (render.Credentials, error) {
	authority := a.Authority.Authority()
	if authority == nil {
		return render.Credentials{}, errNoAuthority
	}
	if len(fleet.pair.CertificatePEM) == 0 {
		pair, err := a.storedPair(ctx, gateway)
		if err != nil {
			return render.Credentials{}, err
		}
		fleet.pair = pair
	}
	uri, bundle, now := pki.GatewayURI(gateway.Name.Namespace, gateway.Name.Name), authority.Bundle(), a.Now()
	if pki.NeedsRenewal(fleet.pair, uri, bundle, now) {
		pair, err := authority.IssueClient(a.Lifetimes, now, uri)
		if err != nil {
			return render.Credentials{}, fmt.Errorf("certificate of Gateway %s: %w", gateway.Name, err)
		}
		fleet.pair = pair
	}
	return render.Credentials{
		CertificatePEM: fleet.pair.CertificatePEM,
		PrivateKeyPEM:  fleet.pair.PrivateKeyPEM,
		BundlePEM:      bundle,
	}, nil
}

// storedPair reads the certificate that the fleet has; empty where there is none. Whose Secret it is matters when it is applied.
func (a *Applier) storedPair(ctx context.Context, gateway ir.Gateway) (pki.KeyPair, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: gateway.Name.Namespace, Name: gateway.Fleet.Name}
	if err := a.Reader.Get(ctx, key, secret); client.IgnoreNotFound(err) != nil {
		return pki.KeyPair{}, fmt.Errorf("getting Secret %s: %w", key, err)
	} else if apierrors.IsNotFound(err) {
		return pki.KeyPair{}, nil
	}
	return pki.KeyPair{CertificatePEM: secret.Data[render.CertificateKey], PrivateKeyPEM: secret.Data[render.PrivateKeyKey]}, nil
}
