//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

const importedHost = "imported.example.com"

const importedService = `
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: {name: shop}
spec: {type: ClusterSetIP, ports: [{name: http, port: 80, protocol: TCP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [imported.example.com]
  rules: [{backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: shop, port: 80}]}]
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: checked}
spec:
  targetRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: shop}]
  healthCheck:
    panicThreshold: 0
    active: {type: HTTP, http: {path: /healthz}, interval: 1s, timeout: 1s, unhealthyThreshold: 1, healthyThreshold: 1}
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: retried}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  retry: {numRetries: 3, numAttemptsPerPriority: 1, retryOn: {triggers: [connect-failure, refused-stream, reset-before-request]}}`

// farCluster is a cluster as the others see it: an address in their EndpointSlices, where something answers or nothing does.
type farCluster struct {
	name    string
	address string
	server  *http.Server
	active  atomic.Int64
}

// TestServiceImport has a Service in two clusters, this one and another. This one is lost under load, and comes back: requests go to the
// other meanwhile, and none fails but those that were under way. Then the other one is lost, which no request notices.
//
//nolint:paralleltest // it installs a definition
func TestServiceImport(t *testing.T) {
	w := newFixture(t)
	w.needEnabled(t, "--cluster-id=here")
	live.InstallServiceImports(t, w.Client)
	here, elsewhere := w.farCluster(t, "here"), w.farCluster(t, "elsewhere")
	w.makeYAML(t, importedService)
	address := w.Gateway(t, "gateway")
	w.policyProgrammed(t, "checked", "retried")
	w.answeredBy(t, address, "here")

	first := w.loadImport(t, address)
	time.Sleep(3 * time.Second)
	underWay := here.lose()
	time.Sleep(time.Second)
	during := first.Stop()
	// Proxies notice each closed connection for itself.
	if most := int(underWay) + 10; during.Failed() > most {
		t.Errorf("a cluster is lost with %d requests under way: %s", underWay, during)
	}
	t.Logf("this cluster is lost with %d requests under way: %s", underWay, during)
	second := w.loadImport(t, address)
	w.answeredBy(t, address, "elsewhere")
	time.Sleep(3 * time.Second)
	here.start(t)
	w.answeredBy(t, address, "here")
	elsewhere.lose()
	time.Sleep(3 * time.Second)
	if after := second.Stop(); after.Failed() > 0 || after.Sent == 0 {
		t.Errorf("after the loss, with the cluster back, and with the other one lost: %s", after)
	} else {
		t.Logf("after the loss: %s", after)
	}
}

func (w *fixture) loadImport(t *testing.T, address string) *load.Run {
	t.Helper()
	return load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(address), Host: importedHost, Rate: 50, Workers: 250, Timeout: 5 * time.Second, MaxDuration: 5 * time.Minute,
	})
}

// farCluster starts a server, and makes the slice by which an implementation of the API announces it.
func (w *fixture) farCluster(t *testing.T, name string) *farCluster {
	t.Helper()
	c := &farCluster{name: name, address: net.JoinHostPort(w.NodeAddress(t), "0")}
	c.start(t)
	_, port, err := net.SplitHostPort(c.address)
	if err != nil {
		t.Fatal(err)
	}
	var number int32
	if _, err := fmt.Sscan(port, &number); err != nil {
		t.Fatal(err)
	}
	w.Make(t, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-" + name, Labels: map[string]string{
			"multicluster.kubernetes.io/service-name": "shop", "multicluster.kubernetes.io/source-cluster": name,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: &number}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{w.NodeAddress(t)}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		}},
	})
	return c
}

// start listens at the address of the cluster, which is chosen the first time.
func (c *farCluster) start(t *testing.T) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	c.address = listener.Addr().String()
	c.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		c.active.Add(1)
		defer c.active.Add(-1)
		time.Sleep(20 * time.Millisecond)
		response.Header().Set("X-Cluster", c.name)
	})}
	go func() { _ = c.server.Serve(listener) }()
	t.Cleanup(func() { c.lose() })
}

// lose ends everything at once, and says how many requests were under way.
func (c *farCluster) lose() int64 {
	underWay := c.active.Load()
	_ = c.server.Close()
	return underWay
}

// answeredBy waits until a cluster answers.
func (w *fixture) answeredBy(t *testing.T, address, cluster string) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		e, err := visit(ctx, address, importedHost, "/")
		if err == nil && e.header.Get("X-Cluster") != cluster {
			err = fmt.Errorf("answered %d by %q, want %s", e.status, e.header.Get("X-Cluster"), cluster)
		}
		return err
	})
}
