//go:build fault

package fault

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// h2cPort is where echo pods speak HTTP/2 without TLS.
const h2cPort = 3001

// TestCase50BackendNodeVanishes drops every packet to and from one of two pods of a backend, under load. No readiness probe tells
// Kubernetes, so that it is the proxy that must notice.
func TestCase50BackendNodeVanishes(t *testing.T) {
	t.Parallel()
	for _, protocol := range []struct {
		name string
		port corev1.ServicePort
	}{
		{"HTTP/1.1", corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(live.EchoPort)}},
		{"HTTP/2", corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(h2cPort), AppProtocol: new("kubernetes.io/h2c")}},
	} {
		t.Run(protocol.name, func(t *testing.T) {
			t.Parallel()
			vanish(t, protocol.name, protocol.port)
		})
	}
}

func vanish(t *testing.T, protocol string, port corev1.ServicePort) {
	t.Helper()
	const (
		settle = 3 * time.Second
		limit  = 3 * time.Second
		host   = "vanishing.example.com"
	)
	c := begin(t, "50", "one of two pods of a backend vanishes without a word ("+protocol+")")
	w := newFixture(t)
	pods := w.Echo(t, "vanishing", 2)
	w.Make(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "vanishing"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "vanishing"}, Ports: []corev1.ServicePort{port}},
	})
	w.Route(t, "vanishing", gatewayName, host, "vanishing")
	w.WaitServed(t, w.address, host)
	proxy := adminClient(t, w.OneProxy(t, gatewayName))

	begun := time.Now()
	run := w.startLoad(t, host)
	time.Sleep(settle)
	cut := time.Since(begun)
	dropPackets(t, &pods[0])
	ejected := waitEjected(t, proxy, pods[0].Status.PodIP)
	listed, err := w.listed(t.Context(), "vanishing")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(span(2*time.Minute, time.Minute))
	result := run.Stop()

	c.took(ejected, "out of the proxy's rotation after", limit)
	if !listed[pods[0].Status.PodIP] {
		t.Errorf("case 50: Kubernetes knew before the proxy")
	}
	c.note("%s requests", grouped(result.Sent))
	c.note("%s failed", grouped(result.Failed()))
	if result.Failed()*100 >= result.Sent {
		t.Errorf("case 50: 1%% or more failed: %s", result)
	}
	c.took(max(result.LastSent-cut, 0), "the last of them was sent after", limit)
}

// dropPackets drops every packet to and from a pod, in its own network, which goes with the pod.
func dropPackets(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	processes := live.Processes(t, string(pod.UID))
	if len(processes) == 0 {
		t.Fatalf("pod %s has no process", pod.Name)
	}
	family := "ip"
	if strings.Contains(pod.Status.PodIP, ":") {
		family = "ip6"
	}
	command(t, strings.NewReplacer("FAMILY", family, "TABLE", cutTable).Replace(`
		table FAMILY TABLE {
			chain to   { type filter hook input  priority -10; policy drop; }
			chain from { type filter hook output priority -10; policy drop; }
		}`), "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", processes[0]), "--", "nft", "--file", "-")
}

// waitEjected returns how long it takes until a proxy sends nothing more to an address, though it is still an endpoint.
func waitEjected(t *testing.T, admin *http.Client, address string) time.Duration {
	t.Helper()
	start := clock.Now()
	live.Eventually(t, 30*time.Second, 20*time.Millisecond, func(ctx context.Context) error {
		body, err := askAdmin(ctx, admin, "/clusters")
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			// cluster::198.18.16.7:3000::health_flags::/failed_outlier_check
			parts := strings.Split(lines.Text(), "::")
			if len(parts) == 4 && strings.HasPrefix(parts[1], address+":") && parts[2] == "health_flags" && strings.Contains(parts[3], "outlier") {
				return nil
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("read the endpoints: %w", err)
		}
		return fmt.Errorf("%s is not ejected", address)
	})
	return clock.Since(start)
}
