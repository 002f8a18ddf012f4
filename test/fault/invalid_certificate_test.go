//go:build fault

package fault

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase15InvalidCertificate gives one of fifty listeners a certificate that is no good: the others serve, as handshakes all the time
// show, the listener says so, and serves again with a good one.
func TestCase15InvalidCertificate(t *testing.T) {
	t.Parallel()
	const (
		listeners = 50
		bad       = 7
	)
	c := begin(t, "15", "a bad Secret on one of 50 listeners")
	w := newSecureFixture(t, listeners)
	var good []string
	for i := range listeners {
		w.waitSecure(t, secureHost(i))
		if i != bad {
			good = append(good, secureHost(i))
		}
	}
	run := w.startHandshakes(t, good)
	for _, kind := range badSecrets(t, secureHost(bad)) {
		w.replaceSecret(t, secureName(bad), kind.data)
		w.waitListener(t, secureName(bad), kind.resolved)
		serving := 0
		for _, host := range good {
			if err := live.ServedSecurely(t.Context(), net.JoinHostPort(w.address, "443"), host); err != nil {
				t.Errorf("%s: %v", kind.name, err)
				continue
			}
			serving++
		}
		c.exactly(serving, "serve with a "+kind.name, listeners-1)

		w.replaceSecret(t, secureName(bad), live.TLSSecret(t, "", secureHost(bad)).Data)
		w.waitListener(t, secureName(bad), metav1.ConditionTrue)
		w.waitSecure(t, secureHost(bad))
	}
	c.load(run.Stop())
	c.none(nacks(t, w.OneProxy(t, secureGateway)), "NACKs of the proxy")
}

type badSecret struct {
	name string
	data map[string][]byte
	// resolved is what the listener says. A certificate that has expired is served, for clients to check.
	resolved metav1.ConditionStatus
}

func badSecrets(t *testing.T, host string) []badSecret {
	t.Helper()
	certificate, _ := live.KeyPair(t, host)
	_, otherKey := live.KeyPair(t, host)
	weak, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // it is meant to be weak
	if err != nil {
		t.Fatal(err)
	}
	strong, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	weakCertificate, weakKey := live.Certificate(t, host, time.Now().Add(time.Hour), weak)
	expired, expiredKey := live.Certificate(t, host, time.Now().Add(-time.Hour), strong)
	data := func(certificate, key []byte) map[string][]byte {
		return map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
	}
	return []badSecret{
		{"mismatched key", data(certificate, otherKey), metav1.ConditionFalse},
		{"certificate that has expired", data(expired, expiredKey), metav1.ConditionTrue},
		{"weak key", data(weakCertificate, weakKey), metav1.ConditionFalse},
		{"key that is none", data(certificate, []byte("nothing")), metav1.ConditionFalse},
	}
}

func (w *fixture) replaceSecret(t *testing.T, name string, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Type: corev1.SecretTypeTLS, Data: data}
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatalf("replace Secret %s: %v", name, err)
	}
}

// waitListener waits until a listener says whether its references are good.
func (w *fixture) waitListener(t *testing.T, name string, want metav1.ConditionStatus) {
	t.Helper()
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		gateway := &gwv1.Gateway{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: secureGateway}, gateway); err != nil {
			return fmt.Errorf("get the gateway: %w", err)
		}
		for _, listener := range gateway.Status.Listeners {
			for _, condition := range listener.Conditions {
				if string(listener.Name) == name && condition.Type == string(gwv1.ListenerConditionResolvedRefs) && condition.Status == want {
					return nil
				}
			}
		}
		return fmt.Errorf("listener %s is not ResolvedRefs=%s", name, want)
	})
}
