//go:build fault

package fault

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

// secureGateway is that of cases about certificates.
const secureGateway = "secure"

func secureHost(i int) string { return fmt.Sprintf("host-%02d.secure.example.com", i) }

func secureName(i int) string { return fmt.Sprintf("secure-%02d", i) }

// secureListener is one HTTPS listener of port 443, with a certificate of its own.
func secureListener(i int) gwv1.Listener {
	return gwv1.Listener{
		Name: gwv1.SectionName(secureName(i)), Port: 443, Protocol: gwv1.HTTPSProtocolType, Hostname: new(gwv1.Hostname(secureHost(i))),
		TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName(secureName(i))}}},
	}
}

// newSecureFixture has a Gateway with a number of HTTPS listeners on one port, and a route for all of them.
func newSecureFixture(t *testing.T, listeners int) *fixture {
	t.Helper()
	w := &fixture{Fixture: live.New(t)}
	w.Echo(t, serviceName, 2)
	w.EchoService(t, serviceName)
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: secureGateway}, Spec: gwv1.GatewaySpec{GatewayClassName: live.GatewayClass}}
	for i := range listeners {
		w.Make(t, live.TLSSecret(t, secureName(i), secureHost(i)))
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, secureListener(i))
	}
	route := live.HTTPRoute("everything", secureGateway, "*.secure.example.com", serviceName)
	w.Make(t, route)
	w.address = w.Programmed(t, gateway)
	return w
}

// startHandshakes asks hosts in turn, each time by a handshake of its own.
func (w *fixture) startHandshakes(t *testing.T, hosts []string) *load.Run {
	t.Helper()
	return load.Start(t.Context(), load.Plan{
		URL: "https://" + w.address + "/", Hosts: hosts, Fresh: true,
		Rate: 50, Workers: 50 * 5, Timeout: 5 * time.Second, MaxDuration: 15 * time.Minute,
	})
}

// editGateway changes a Gateway.
func (w *fixture) editGateway(t *testing.T, name string, change func(*gwv1.Gateway)) {
	t.Helper()
	gateway := &gwv1.Gateway{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, gateway); err != nil {
		t.Fatal(err)
	}
	before := gateway.DeepCopy()
	change(gateway)
	if err := w.Patch(t.Context(), gateway, client.MergeFrom(before)); err != nil {
		t.Fatalf("edit gateway %s: %v", name, err)
	}
}
