//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestFamilies shows that a Gateway serves in every IP family that pods have, and that its proxies reach backends in each of them. Probes
// and metrics are answered at every address of a proxy, and clients are known by the addresses that they have.
func TestFamilies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pods := podNames(w.Echo(t, "echo", 2))
	families := w.clusterFamilies(t)
	gateway := live.GatewayOf("families")
	w.Programmed(t, gateway)

	for _, family := range families {
		name := "echo-" + strings.ToLower(string(family))
		w.Make(t, echoServiceOf(name, corev1.IPFamilyPolicySingleStack, family))
		w.Route(t, name, "families", name+".example.com", name)
	}
	w.Make(t, echoServiceOf("echo-all", corev1.IPFamilyPolicyPreferDualStack))
	w.Route(t, "echo-all", "families", "echo-all.example.com", "echo-all")
	w.Make(t, anyHost("any", "families", "echo-all"))

	if got := familiesOf(gateway.Status.Addresses); !slices.Equal(got, families) {
		t.Errorf("the Gateway has addresses %+v, and pods have %v", gateway.Status.Addresses, families)
	}
	for _, a := range gateway.Status.Addresses {
		for _, host := range []string{"echo-all.example.com", "[2001:db8::1]:8080", "[::1]", "192.0.2.1"} {
			w.WaitServed(t, a.Value, host)
		}
		w.waitAnswered(t, a.Value, "echo-all.example.com", pods)
		for _, family := range families {
			w.waitAnswered(t, a.Value, "echo-"+strings.ToLower(string(family))+".example.com", pods)
		}
		w.checkClientAddress(t, a.Value)
	}
	proxy := w.OneProxy(t, "families")
	if len(proxy.Status.PodIPs) != len(families) {
		t.Errorf("the proxy has addresses %v, want one of each of %v", proxy.Status.PodIPs, families)
	}
	for _, ip := range proxy.Status.PodIPs {
		for _, path := range []string{"/ready", "/metrics"} {
			live.Eventually(t, 30*time.Second, 200*time.Millisecond, func(ctx context.Context) error { return answersOK(ctx, ip.IP, path) })
		}
	}
}

// TestAStaticAddressOfAFamily asks for an address of each family that the test cluster gives only to whom names it.
func TestAStaticAddressOfAFamily(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	for _, family := range w.clusterFamilies(t) {
		// It is written as people do, and not as Kubernetes does.
		wanted := map[corev1.IPFamily]string{corev1.IPv4Protocol: "198.18.200.251", corev1.IPv6Protocol: "2001:2:0:C8:0::FB"}[family]
		name := "static-" + strings.ToLower(string(family))
		gateway := live.GatewayOf(name)
		gateway.Spec.Addresses = []gwv1.GatewaySpecAddress{{Type: new(gwv1.IPAddressType), Value: wanted}}
		address := w.Programmed(t, gateway)
		if netip.MustParseAddr(address) != netip.MustParseAddr(wanted) || len(gateway.Status.Addresses) != 1 {
			t.Errorf("%s has %+v", name, gateway.Status.Addresses)
		}
		w.Route(t, name, name, name+".example.com", "echo")
		w.WaitServed(t, address, name+".example.com")
	}
}

// clusterFamilies are the families of pods, the preferred one first.
func (w *fixture) clusterFamilies(t *testing.T) []corev1.IPFamily {
	t.Helper()
	controllers, err := w.Controllers(t.Context())
	if err != nil || len(controllers) == 0 {
		t.Fatalf("find a pod of the controller: %v", err)
	}
	var families []corev1.IPFamily
	for _, ip := range controllers[0].Status.PodIPs {
		families = append(families, familyOf(ip.IP))
	}
	return families
}

func familyOf(address string) corev1.IPFamily {
	if netip.MustParseAddr(address).Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func familiesOf(addresses []gwv1.GatewayStatusAddress) []corev1.IPFamily {
	var families []corev1.IPFamily
	for _, a := range addresses {
		families = append(families, familyOf(a.Value))
	}
	return families
}

func echoServiceOf(name string, policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "echo"}, IPFamilyPolicy: &policy, IPFamilies: families,
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(live.EchoPort)}},
		},
	}
}

// anyHost is a route for all hosts.
func anyHost(name, gateway, service string) *gwv1.HTTPRoute {
	route := live.HTTPRoute(name, gateway, "", service)
	route.Spec.Hostnames = nil
	return route
}

// checkClientAddress: a backend is told the address that the client has, and not one of IPv4 in the form of IPv6.
func (w *fixture) checkClientAddress(t *testing.T, address string) {
	t.Helper()
	answer, err := w.Request(t.Context(), address, "echo-all.example.com")
	if err != nil {
		t.Fatal(err)
	}
	seen := answer.Headers["X-Forwarded-For"]
	if len(seen) != 1 {
		t.Fatalf("X-Forwarded-For: %v", seen)
	}
	client, err := netip.ParseAddr(seen[0])
	if err != nil || client.Is4In6() || client.Is4() != netip.MustParseAddr(address).Is4() {
		t.Errorf("a client of %s is known as %s (%v)", address, seen[0], err)
	}
}

// answersOK asks the port for probes.
func answersOK(ctx context.Context, address, path string) error {
	url := "http://" + net.JoinHostPort(address, "19001") + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
