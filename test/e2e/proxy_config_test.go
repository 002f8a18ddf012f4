//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// TestProxyConfig sees what a ProxyConfig says by traffic and by what proxies tell of themselves: how many there are, how many threads they
// have, which address and port of the node lead to them, what runs them, and that one that cannot be used takes nothing away.
func TestProxyConfig(t *testing.T) {
	t.Parallel()
	// The port is one of those that Services get only on request.
	const host, nodePort = "configured.example.com", 30023
	w := newFixture(t)
	w.Echo(t, "backend", 1)
	w.EchoService(t, "backend")
	gateway, config := live.GatewayWith("configured", v1alpha1.ProxyConfigSpec{
		Replicas: new(int32(2)), Concurrency: new(int32(1)),
		Pod: &v1alpha1.Pod{Labels: map[string]v1alpha1.LabelValue{"example.com/tier": "edge"}},
		Service: &v1alpha1.Service{
			Type:      new(corev1.ServiceTypeNodePort),
			NodePorts: []v1alpha1.NodePort{{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: nodePort}},
		},
	})
	w.Make(t, config)
	address := w.Programmed(t, gateway)
	if node := w.node(t); address != node {
		t.Errorf("the Gateway's address is %s, want that of the node, %s", address, node)
	}
	address = net.JoinHostPort(address, fmt.Sprint(nodePort))
	w.Route(t, "route", "configured", host, "backend")
	w.WaitServed(t, address, host)
	pods := w.proxies(t, 2)
	for i := range pods {
		if got := proxyMetric(t, pods[i].Status.PodIP, "envoy_server_concurrency"); got != "1" || pods[i].Labels["example.com/tier"] != "edge" {
			t.Errorf("proxy %s has %q threads and the labels %v", pods[i].Name, got, pods[i].Labels)
		}
	}

	broken := metav1.ObjectMeta{Name: "elsewhere"}
	w.giveParameters(t, "configured", broken.Name)
	w.WaitRefused(t, "configured", "elsewhere")
	w.WaitServed(t, address, host)
	w.proxies(t, 2)
	w.giveParameters(t, "configured", "configured")

	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) {
		s.Workload, s.Replicas = new(v1alpha1.DaemonSetWorkload), nil
		s.Metrics = &v1alpha1.Metrics{Prometheus: new(v1alpha1.MetricsDisabled)}
	})
	live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if _, err := w.Request(ctx, address, host); err != nil {
			t.Errorf("while a DaemonSet takes over: %v", err)
		}
		fleet := client.ObjectKey{Namespace: w.Namespace, Name: "configured-" + live.GatewayClass}
		if err := w.Get(ctx, fleet, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment is still there: %w", err)
		}
		var daemons appsv1.DaemonSet
		if err := w.Get(ctx, fleet, &daemons); err != nil || daemons.Status.NumberAvailable != 1 {
			return fmt.Errorf("the DaemonSet has %d proxies: %w", daemons.Status.NumberAvailable, err)
		}
		return nil
	})
	w.WaitServed(t, address, host)
	if got := proxyMetric(t, w.proxies(t, 1)[0].Status.PodIP, "envoy_server_concurrency"); got != "" {
		t.Errorf("hidden metrics say %q", got)
	}
}

// proxies waits until there are that many that are ready, and no others.
func (w *fixture) proxies(t *testing.T, n int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		found, err := w.Proxies(ctx, "configured")
		if err != nil {
			return err
		}
		pods = found
		for i := range pods {
			if !live.PodReady(&pods[i]) {
				return fmt.Errorf("proxy %s is not ready", pods[i].Name)
			}
		}
		if len(pods) != n {
			return fmt.Errorf("there are %d proxies, want %d", len(pods), n)
		}
		return nil
	})
	return pods
}

// node is the address of the only node.
func (w *fixture) node(t *testing.T) string {
	t.Helper()
	var nodes corev1.NodeList
	if err := w.List(t.Context(), &nodes); err != nil || len(nodes.Items) == 0 {
		t.Fatalf("find the node: %v", err)
	}
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	t.Fatal("the node has no address")
	return ""
}

// giveParameters has a Gateway name another ProxyConfig.
func (w *fixture) giveParameters(t *testing.T, gateway, config string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"infrastructure":{"parametersRef":{"name":%q}}}}`, config)
	object, _ := live.GatewayWith(gateway, v1alpha1.ProxyConfigSpec{})
	object.Namespace = w.Namespace
	if err := w.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatalf("change the Gateway: %v", err)
	}
}

// proxyMetric reads one number that a proxy tells of itself, empty if it tells none.
func proxyMetric(t *testing.T, address, name string) string {
	t.Helper()
	value, err := readMetric(t.Context(), "http://"+net.JoinHostPort(address, "19001")+"/metrics", name)
	if err != nil {
		t.Logf("metrics of %s: %v", address, err)
	}
	return value
}

func readMetric(ctx context.Context, url, name string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("make a request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", errors.New(response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if found, value, ok := strings.Cut(lines.Text(), " "); ok && strings.TrimSuffix(found, "{}") == name {
			return value, nil
		}
	}
	return "", fmt.Errorf("there is no %s: %w", name, lines.Err())
}
