//go:build fault

package fault

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/pki"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// Where a proxy finds the authorities that it trusts and its token.
const (
	bundleFile     = "/etc/envoy/ca.crt"
	tokenDirectory = "/var/run/secrets/gatewright.dev/xds"
)

// reconnectLimit is how long a proxy may take to be told of something new after its connection was cut.
const reconnectLimit = 5 * time.Second

// TestCase28XDSCredentialsRotateAndExpire replaces, under load, the token of a proxy, the authority of the control plane and with it
// the servers' certificates, and then lets them expire. After each step the proxy's connection is cut, so that it has to connect with
// what is good now.
//
// An authority that ends in a minute takes the place of a year's passing; everything that follows from it is the control plane's own doing.
//
//nolint:paralleltest // it replaces what every proxy trusts
func TestCase28XDSCredentialsRotateAndExpire(t *testing.T) {
	c := begin(t, "28", "xDS certificates and tokens rotate and expire")
	w := newFixture(t)
	proxy := w.OneProxy(t, gatewayName)
	run := w.startLoad(t, steadyHost)
	reconnect := func(what string) {
		t.Helper()
		waitConnected(t, proxy)
		cutStream(t, proxy)
		c.took(w.serveMore(t, strings.ReplaceAll(what, " ", "-")), what, reconnectLimit)
	}

	w.expireToken(t, proxy)
	start := clock.Now()
	replaceToken(t, proxy, w.token(t, proxy, xdsAudience, true))
	w.serveMore(t, "after-expiry")
	c.took(clock.Since(start), "after an expired token", reconnectLimit)
	replaceToken(t, proxy, w.token(t, proxy, xdsAudience, true))
	reconnect("new token")

	short := w.learnAuthority(t, proxy)
	w.useAuthority(t, short)
	reconnect("new authority")
	w.waitSuccessor(t, proxy, short)
	reconnect("successor known")
	time.Sleep(time.Until(short.end.Add(time.Second)))
	w.waitIssuer(t, func(issuer string) bool { return issuer != short.name })
	reconnect("authority expired")
	_, fresh := w.NewProxy(t, gatewayName, steadyHost)
	c.took(fresh, "a new proxy serves after", 10*time.Second)

	c.load(run.Stop())
	c.none(w.Restarts(t, gatewayName), "proxy restarts")
}

// waitConnected waits until a proxy is connected, which it must be within the limit too: the control plane is ready.
func waitConnected(t *testing.T, proxy *corev1.Pod) {
	t.Helper()
	live.Eventually(t, reconnectLimit, 50*time.Millisecond, func(context.Context) error {
		if stats(t, proxy)["control_plane.connected_state"] != 1 {
			return fmt.Errorf("proxy %s is not connected", proxy.Name)
		}
		return nil
	})
}

// expireToken puts in the place of a proxy's token one that is good no more, cuts its connection, and waits until it was refused for a
// while.
func (w *fixture) expireToken(t *testing.T, proxy *corev1.Pod) {
	t.Helper()
	bad := strings.Repeat("x", 40)
	live.Eventually(t, time.Minute, 0, func(context.Context) error {
		replaceToken(t, proxy, bad)
		cutStream(t, proxy)
		time.Sleep(3 * time.Second)
		// The kubelet puts its own token back when it comes by.
		if now := readInside(t, proxy, tokenDirectory+"/token"); string(now) != bad {
			return errors.New("the token was put back")
		}
		if stats(t, proxy)["control_plane.connected_state"] != 0 {
			return errors.New("a proxy with a bad token is connected")
		}
		return nil
	})
}

// replaceToken replaces a proxy's token as a kubelet does: by a link to a new directory that takes the place of the old one.
func replaceToken(t *testing.T, proxy *corev1.Pod, token string) {
	t.Helper()
	directory := volume(t, proxy, "kubernetes.io~projected/token")
	fresh, err := os.MkdirTemp(directory, "..test_")
	if err != nil {
		t.Fatal(err)
	}
	// As the kubelet leaves them: for the user of the pod.
	for _, err := range []error{
		os.Chmod(fresh, 0o755),
		os.WriteFile(filepath.Join(fresh, "token"), []byte(token), 0o644),
		os.Symlink(filepath.Base(fresh), filepath.Join(directory, "..test_link")),
		os.Rename(filepath.Join(directory, "..test_link"), filepath.Join(directory, "..data")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// volume is where the kubelet keeps a volume of a pod; the test runs on the cluster's only node.
func volume(t *testing.T, pod *corev1.Pod, name string) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasSuffix(fields[4], "pods/"+string(pod.UID)+"/volumes/"+name) {
			return fields[4]
		}
	}
	t.Fatalf("pod %s has no volume %s", pod.Name, name)
	return ""
}

// readInside reads a file as a proxy sees it.
func readInside(t *testing.T, proxy *corev1.Pod, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/root%s", process(t, proxy), path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// authority is one that ends soon.
type authority struct {
	name string
	end  time.Time
	data map[string][]byte
}

// learnAuthority gives the control plane an authority that will sign next, as it gives itself one every year, and waits until a proxy
// trusts it.
func (w *fixture) learnAuthority(t *testing.T, proxy *corev1.Pod) authority {
	t.Helper()
	made, _, err := pki.Advance(nil, pki.Lifetimes{CA: 75 * time.Second, Backdate: 5 * time.Minute}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	certificate := certificates(t, data[pki.BundleKey])[0]
	secret := w.authority(t)
	secret.Data[pki.BundleKey] = append(secret.Data[pki.BundleKey], data[pki.BundleKey]...)
	secret.Data[pki.NextKey] = data[pki.CurrentKey]
	w.writeAuthority(t, secret)
	w.waitTrusted(t, proxy, data[pki.BundleKey])
	return authority{name: certificate.Subject.CommonName, end: certificate.NotAfter, data: data}
}

// useAuthority has it sign, as the control plane does when all proxies have learnt it, and waits until the servers prove themselves by it.
func (w *fixture) useAuthority(t *testing.T, short authority) {
	t.Helper()
	secret := w.authority(t)
	old := bytes.ReplaceAll(secret.Data[pki.BundleKey], short.data[pki.BundleKey], nil)
	secret.Data = map[string][]byte{
		pki.BundleKey:  append(bytes.Clone(short.data[pki.BundleKey]), old...),
		pki.CurrentKey: short.data[pki.CurrentKey],
	}
	w.writeAuthority(t, secret)
	w.waitIssuer(t, func(issuer string) bool { return issuer == short.name })
}

// waitSuccessor waits until the control plane has made a successor by itself, and a proxy trusts it.
func (w *fixture) waitSuccessor(t *testing.T, proxy *corev1.Pod, short authority) {
	t.Helper()
	var successor []byte
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(context.Context) error {
		for _, c := range certificates(t, w.authority(t).Data[pki.BundleKey]) {
			if c.NotBefore.After(short.end.Add(-time.Hour)) && c.Subject.CommonName != short.name && len(w.authority(t).Data[pki.NextKey]) > 0 {
				successor = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
				return nil
			}
		}
		return errors.New("there is no successor")
	})
	w.waitTrusted(t, proxy, successor)
}

// writeAuthority writes the Secret, and has the replicas read it now rather than in a minute.
func (w *fixture) writeAuthority(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatalf("write the certificate authority: %v", err)
	}
	w.RestartControllers(t)
}

// waitTrusted waits until a certificate is among those that a proxy trusts. A change of the pod has the kubelet look after its volumes now
// rather than in a minute.
func (w *fixture) waitTrusted(t *testing.T, proxy *corev1.Pod, certificate []byte) {
	t.Helper()
	live.Eventually(t, 2*time.Minute, 500*time.Millisecond, func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"gatewright.dev/test-look-again":%q}}}`, time.Now())
		if err := w.Patch(ctx, proxy.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
			return fmt.Errorf("annotate %s: %w", proxy.Name, err)
		}
		if !bytes.Contains(readInside(t, proxy, bundleFile), certificate) {
			return errors.New("the proxy does not trust the authority yet")
		}
		return nil
	})
}

// waitIssuer waits until every one of several connections in a row finds a server whose certificate has a right issuer.
func (w *fixture) waitIssuer(t *testing.T, right func(issuer string) bool) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		address, config := w.trust(t)
		for range 8 {
			issuer, err := issuerAt(ctx, address, config)
			if err != nil {
				return err
			}
			if !right(issuer) {
				return fmt.Errorf("a server's certificate is from %s", issuer)
			}
		}
		return nil
	})
}

func issuerAt(ctx context.Context, address string, config *tls.Config) (string, error) {
	raw, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: 2 * time.Second}, Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("connect to the control plane: %w", err)
	}
	defer func() { _ = raw.Close() }()
	connection, ok := raw.(*tls.Conn)
	if !ok {
		return "", errors.New("not a TLS connection")
	}
	return connection.ConnectionState().PeerCertificates[0].Issuer.CommonName, nil
}

func certificates(t *testing.T, bundle []byte) []*x509.Certificate {
	t.Helper()
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, certificate)
	}
	return all
}
