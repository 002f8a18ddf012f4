//go:build e2e

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// TestHostPorts opens the port of a Gateway on the nodes if its class allows that: the Gateway has their addresses, and its pods the port.
// The cluster of the tests has no plugin that would forward the port, so requests go to the pods.
func TestHostPorts(t *testing.T) {
	t.Parallel()
	const host, port = "bare.example.com", 18080
	w := newFixture(t)
	w.Echo(t, "backend", 1)
	w.EchoService(t, "backend")
	spec := v1alpha1.ProxyConfigSpec{
		Workload: new(v1alpha1.DaemonSetWorkload),
		Pod:      &v1alpha1.Pod{HostPorts: new(v1alpha1.PodHostPortsEnabled)},
	}
	refused, config := live.GatewayWith("refused", spec)
	w.Make(t, config, refused)
	w.WaitRefused(t, "refused", "hostPorts: Allowed")

	gateway, config := live.GatewayWith("bare", spec)
	gateway.Spec.GatewayClassName = gwv1.ObjectName(w.classWith(t, map[string]any{"hostPorts": "Allowed"}))
	gateway.Spec.Listeners[0].Port = port
	w.Make(t, config)
	if address := w.Programmed(t, gateway); address != w.node(t) {
		t.Errorf("the Gateway's address is %s, want that of the node, %s", address, w.node(t))
	}
	w.Route(t, "route", "bare", host, "backend")
	proxy := w.OneProxy(t, "bare")
	found := false
	for _, opened := range proxy.Spec.Containers[0].Ports {
		found = found || opened.HostPort == port && opened.ContainerPort == port
	}
	if !found {
		t.Errorf("the proxy has the ports %+v", proxy.Spec.Containers[0].Ports)
	}
	w.WaitServed(t, proxy.Status.PodIP+":18080", host)
}

// TestAssignedUser runs proxies as the user and groups that a cluster assigns, as OpenShift does: here a patch stands for that.
func TestAssignedUser(t *testing.T) {
	t.Parallel()
	const host = "assigned.example.com"
	w := newFixture(t)
	w.Echo(t, "backend", 1)
	w.EchoService(t, "backend")
	gateway, config := live.GatewayWith("assigned", v1alpha1.ProxyConfigSpec{
		Pod: &v1alpha1.Pod{User: new(v1alpha1.PodUserAssigned)},
		Patches: &v1alpha1.Patches{Deployment: &runtime.RawExtension{
			Raw: []byte(`{"spec":{"template":{"spec":{"securityContext":{"runAsUser":1000650000,"fsGroup":1000650000}}}}}`),
		}},
	})
	w.Make(t, config)
	address := w.Programmed(t, gateway)
	w.Route(t, "route", "assigned", host, "backend")
	w.WaitServed(t, address, host)
	security := w.OneProxy(t, "assigned").Spec.SecurityContext
	if security.RunAsUser == nil || *security.RunAsUser != 1000650000 || security.RunAsGroup != nil {
		t.Errorf("the proxy runs as %+v", security)
	}
}

// TestDefaultThreads has a proxy that says nothing of CPU run with two threads, however many cores the node has.
func TestDefaultThreads(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Gateway(t, "gateway")
	proxy := w.OneProxy(t, "gateway")
	if got := proxyMetric(t, proxy.Status.PodIP, "envoy_server_concurrency"); got != "2" {
		t.Errorf("the proxy has %q threads, want 2", got)
	}
}
