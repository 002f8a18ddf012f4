//go:build fuzz

package fuzz

import (
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/xds"
)

// TestKeyPairsAreCheckedAsEnvoyDoes offers each odd key pair to Envoy, whatever we think of it. What Envoy refuses we must refuse too, and
// with what we take a client must get through.
func TestKeyPairsAreCheckedAsEnvoyDoes(t *testing.T) {
	t.Parallel()
	l := newLab(t, fuzzobjects.HostileGateway)
	defer func() { l.close() }()
	for _, pair := range fuzzobjects.HostileKeyPairs() {
		secret := &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}}
		certificate, problem := refs.KeyPair(nil, holding(store.Secret, "infra/cert", secret), "infra/cert")
		if problem != nil {
			certificate = ir.Certificate{CertificatePEM: pair.Certificate, PrivateKeyPEM: pair.Key}
		}
		certificate.Name = pair.Name
		socket := filepath.Join(t.TempDir(), "socket")
		err := l.offer(socket, ir.Chain{Certificates: []string{pair.Name}}, xds.Change{
			Name: pair.Name, Resource: resource(listenertranslate.Secret(certificate)),
		})
		if err == nil {
			err = shakeHands(socket)
		}
		l = compare(t, l, pair.Name, problem, err)
	}
}

// TestAuthoritiesAreCheckedAsEnvoyDoes is the same for the certificates by which clients and backends are known.
func TestAuthoritiesAreCheckedAsEnvoyDoes(t *testing.T) {
	t.Parallel()
	l := newLab(t, fuzzobjects.HostileGateway)
	defer func() { l.close() }()
	good := fuzzobjects.HostileKeyPairs()[0]
	pair := listenertranslate.Secret(ir.Certificate{Name: "good", CertificatePEM: good.Certificate, PrivateKeyPEM: good.Key})
	for _, bundle := range fuzzobjects.HostileBundles() {
		config := &corev1.ConfigMap{Data: map[string]string{corev1.ServiceAccountRootCAKey: string(bundle.PEM)}}
		authorities, problem := refs.AuthoritiesNamed(nil, holding(store.ConfigMap, "infra/ca", config), "ConfigMap/infra/ca")
		if problem != nil {
			authorities.PEM = bundle.PEM
		}
		authorities.Name = bundle.Name
		chain := ir.Chain{Certificates: []string{"good"}, Clients: &ir.ClientValidation{Authorities: bundle.Name}}
		err := l.offer(filepath.Join(t.TempDir(), "socket"), chain,
			xds.Change{Name: "good", Resource: resource(pair)}, xds.Change{
				Name: bundle.Name, Resource: resource(listenertranslate.Authorities(authorities)),
			})
		l = compare(t, l, bundle.Name, problem, err)
	}
}

// TestRevocationsAreCheckedAsEnvoyDoes is the same for certificate revocation lists.
func TestRevocationsAreCheckedAsEnvoyDoes(t *testing.T) {
	t.Parallel()
	l := newLab(t, fuzzobjects.HostileGateway)
	defer func() { l.close() }()
	good := fuzzobjects.HostileKeyPairs()[0]
	pair := listenertranslate.Secret(ir.Certificate{Name: "good", CertificatePEM: good.Certificate, PrivateKeyPEM: good.Key})
	for _, list := range fuzzobjects.HostileRevocations() {
		config := &corev1.ConfigMap{
			Data:       map[string]string{corev1.ServiceAccountRootCAKey: string(fuzzobjects.HostileBundles()[0].PEM)},
			BinaryData: map[string][]byte{v1alpha1.CRLKey: list.PEM},
		}
		authorities, problem := refs.AuthoritiesNamed(
			nil, holding(store.ConfigMap, "infra/ca", config), "ConfigMap/infra/ca!ConfigMap/infra/ca")
		if problem != nil {
			authorities.PEM, authorities.Revocations = fuzzobjects.HostileBundles()[0].PEM, list.PEM
		}
		authorities.Name = list.Name
		chain := ir.Chain{Certificates: []string{"good"}, Clients: &ir.ClientValidation{Authorities: list.Name}}
		err := l.offer(filepath.Join(t.TempDir(), "socket"), chain,
			xds.Change{Name: "good", Resource: resource(pair)}, xds.Change{
				Name: list.Name, Resource: resource(listenertranslate.Authorities(authorities)),
			})
		l = compare(t, l, list.Name, problem, err)
	}
}

// compare fails the test where we take what Envoy does not. After a NACK the lab is another one.
func compare(t *testing.T, l *lab, name string, problem *refs.Problem, err error) *lab {
	t.Helper()
	switch {
	case problem == nil && err != nil:
		t.Errorf("%s: we take it, and %v", name, err)
	case problem != nil && err == nil:
		t.Logf("%s: Envoy would take it, and we do not: %s", name, problem.Message)
	case problem != nil:
		t.Logf("%s: it is rejected by both: %s; %v", name, problem.Message, err)
	}
	if err == nil {
		return l
	}
	l.close()
	return newLab(t, fuzzobjects.HostileGateway)
}

func holding(kind store.Kind, key string, object metav1.Object) *store.Objects {
	objects := store.NewObjects(store.New())
	objects.Apply(store.Change{Kind: kind, Key: key, Object: object})
	return objects
}

// offer gives Envoy a listener with secrets.
func (l *lab) offer(socket string, chain ir.Chain, secrets ...xds.Change) error {
	chain.Name, chain.RouteTable = "chain", ir.ParseTableID(beacon)
	listener := listenertranslate.Listener(fuzzobjects.HostileGateway, ir.Port{
		Number: 443, Protocol: ir.HTTPS, Chains: []ir.Chain{chain},
	}, nil)
	listener.Address = pipe(socket)
	listener.ListenerFilters = nil
	listener.FilterChains[0].FilterChainMatch = nil
	listener.Name = "offer"
	group := xds.GroupID(fuzzobjects.HostileGateway)
	for i := range secrets {
		secrets[i].Group, secrets[i].Type = group, xds.Secret
	}
	l.proxies.Apply(append(secrets, xds.Change{Group: group, Type: xds.Listener, Name: listener.GetName(), Resource: resource(listener)}))
	return l.await()
}

// shakeHands sets up TLS with the other end of a socket.
func shakeHands(socket string) error {
	connection, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	//nolint:gosec // it is about whether they can talk, not about who they are
	return tls.Client(connection, &tls.Config{InsecureSkipVerify: true, ServerName: "example.com"}).HandshakeContext(context.Background())
}
