//go:build fault

package fault

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase35UnrelatedSecretWrites writes Secrets that no Gateway refers to, of the type of certificates and of another, 100 times a
// second. A proxy that serves TLS is told nothing.
func TestCase35UnrelatedSecretWrites(t *testing.T) {
	t.Parallel()
	const (
		secrets = 20
		writers = 10
		// mostBytes is what keeps a connection open in that time, and less than one certificate.
		mostBytes = 1024
	)
	c := begin(t, "35", "100 unrelated Secret writes a second")
	w := newSecureFixture(t, 1)
	w.waitSecure(t, secureHost(0))
	unrelated := make([]*corev1.Secret, secrets)
	for i := range unrelated {
		unrelated[i] = live.TLSSecret(t, fmt.Sprintf("unrelated-%d", i), fmt.Sprintf("unrelated-%d.example.com", i))
		if i%2 == 1 {
			unrelated[i].Type = corev1.SecretTypeOpaque
		}
		w.Make(t, unrelated[i])
	}
	// What was under way when the load began has arrived by then.
	time.Sleep(3 * time.Second)
	proxy := w.OneProxy(t, secureGateway)
	before := stats(t, proxy)

	var written, failed atomic.Int64
	var done sync.WaitGroup
	end := time.Now().Add(span(time.Minute, 15*time.Second))
	for writer := range writers {
		done.Go(func() {
			tick := time.NewTicker(writers * time.Second / 100)
			defer tick.Stop()
			for n := writer; time.Now().Before(end); n += writers {
				<-tick.C
				secret := unrelated[n%secrets].DeepCopy()
				secret.ObjectMeta = metav1.ObjectMeta{
					Namespace: w.Namespace, Name: secret.Name, Annotations: map[string]string{"example.com/write": fmt.Sprint(n)},
				}
				secret.Data["other"] = []byte(fmt.Sprint(n))
				if err := w.Update(t.Context(), secret); err != nil {
					failed.Add(1)
					continue
				}
				written.Add(1)
			}
		})
	}
	done.Wait()
	after := stats(t, proxy)
	c.note("%s writes", grouped(int(written.Load())))
	if written.Load() == 0 || failed.Load() > written.Load()/10 {
		t.Errorf("case 35: %d Secrets were written, %d could not be", written.Load(), failed.Load())
	}
	updates := 0
	for name, count := range after {
		// That of the control plane's own cluster counts how often its name was resolved.
		if strings.HasSuffix(name, ".update_success") && count != before[name] && name != "cluster.gatewright-xds.update_success" {
			t.Logf("%s: %d before, %d after", name, before[name], count)
			updates += count - before[name]
		}
	}
	c.none(updates, "updates of the proxy")
	const received = "cluster.gatewright-xds.upstream_cx_rx_bytes_total"
	if after[received] == 0 {
		t.Errorf("case 35: %s is not counted", received)
	}
	bytes := after[received] - before[received]
	c.note("%s bytes from the control plane", grouped(bytes))
	if bytes > mostBytes {
		t.Errorf("case 35: the proxy was sent %d bytes", bytes)
	}
}
