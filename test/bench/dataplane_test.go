//go:build bench

package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/bench/baseline"
	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/live"
)

const (
	fastHost   = "fast.example.com"
	secretName = "fast"
)

// protocols are the ways to talk to a proxy, with as many requests under way in each. Which thread of a proxy a connection falls to is
// chance, so there are enough of them to have about the same number each.
var protocols = []protocol{
	{name: "HTTP/1.1", scheme: "http", port: "80", flags: []string{"--h1", "--clients=16", "--max-concurrent-streams=1"}},
	{name: "HTTP/2", scheme: "http", port: "80", flags: []string{"--clients=8", "--max-concurrent-streams=2"}},
	{name: "HTTP/2 over TLS", scheme: "https", port: "443", flags: []string{"--clients=8", "--max-concurrent-streams=2"}},
}

// TestDataPlane sends as many requests as it can through a Gateway's proxy, and through the same Envoy with a configuration written by
// hand. They take turns, and share the machine with the same load generator and the same backend, so what differs is what the proxy was
// told.
//
//nolint:paralleltest // it measures times
func TestDataPlane(t *testing.T) {
	run := open(t)
	if *resume && compared(run) {
		progress("the data plane was compared before")
		return
	}
	s, ours, bare := newRace(t)
	run.DataPlane, run.Apart = nil, nil
	if *apart {
		run.Apart = &figures.Apart{Version: *version, Command: "make bench-data-plane", Date: time.Now().UTC(), Load: loadAverage()}
	}
	for _, p := range protocols {
		run.DataPlane = append(run.DataPlane, &figures.Versus{Protocol: p.name})
	}
	for round := range *rounds {
		for i, p := range protocols {
			progress("round %d of %d: %s", round+1, *rounds, p.name)
			versus := run.DataPlane[i]
			runs := []func(){
				func() { versus.Ours = append(versus.Ours, s.generate(t, p, ours)) },
				func() { versus.Bare = append(versus.Bare, s.generate(t, p, bare)) },
			}
			// The first may find the machine warmer or colder.
			runs[round%2]()
			runs[1-round%2]()
		}
		save(t, run)
	}
	show(run, *gateways)
}

// compared says whether a run has enough rounds of all protocols.
func compared(run *figures.Run) bool {
	for _, v := range run.DataPlane {
		if min(len(v.Ours), len(v.Bare)) < *rounds {
			return false
		}
	}
	return len(run.DataPlane) == len(protocols)
}

// racer is a proxy: where it is reached, and its pods.
type racer struct {
	address string
	pods    []corev1.Pod
}

// newRace makes a Gateway and an Envoy beside it that do the same.
func newRace(t *testing.T) (s *scenario, ours, bare racer) {
	t.Helper()
	w := live.New(t)
	remember(w)
	waitAlone(t, w)
	certificate, key := live.KeyPair(t, fastHost)
	w.Make(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	})
	ours.address = w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayName},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: gwv1.ObjectName(*class),
			Listeners: []gwv1.Listener{
				{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType},
				{Name: "https", Port: 443, Protocol: gwv1.HTTPSProtocolType, TLS: &gwv1.ListenerTLSConfig{
					CertificateRefs: []gwv1.SecretObjectReference{{Name: secretName}},
				}},
			},
		},
	})
	s = &scenario{tenants: []*tenant{{Fixture: w, address: ours.address}}}
	ours.pods = s.proxies(t)

	configuration, err := baseline.Backend()
	if err != nil {
		t.Fatal(err)
	}
	backend := s.startEnvoy(t, "backend", configuration)
	slice := live.EndpointSlice("backend", backend.Status.PodIP)
	slice.Ports[0].Port = new(int32(baseline.HTTPPort))
	w.Make(t, live.ManualService("backend"), slice)
	w.Route(t, "fast", gatewayName, fastHost, "backend")

	configuration, err = baseline.Static(baseline.Way{
		Host: fastHost, Backend: backend.Status.PodIP, BackendPort: baseline.HTTPPort, Certificate: certificate, Key: key,
	})
	if err != nil {
		t.Fatal(err)
	}
	bare.pods = []corev1.Pod{*s.startEnvoy(t, "bare", configuration)}
	bare.address = balanced(t, w, "bare")
	for _, racer := range []racer{ours, bare} {
		for _, p := range protocols {
			live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error { return p.served(ctx, racer.address) })
		}
	}
	return s, ours, bare
}

// balanced makes a pod reachable the same way as a Gateway.
func balanced(t *testing.T, w *live.Fixture, name string) string {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"bench": name},
			Ports: []corev1.ServicePort{
				{Name: "http", Port: 80, TargetPort: intstr.FromInt32(baseline.HTTPPort)},
				{Name: "https", Port: 443, TargetPort: intstr.FromInt32(baseline.HTTPSPort)},
			},
		},
	}
	w.Make(t, service)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
			return err
		}
		if len(service.Status.LoadBalancer.Ingress) == 0 {
			return errors.New("the Service has no address")
		}
		return nil
	})
	return service.Status.LoadBalancer.Ingress[0].IP
}

// served says why a proxy does not answer.
func (p protocol) served(ctx context.Context, address string) error {
	if p.scheme == "https" {
		return live.ServedSecurely(ctx, address, fastHost)
	}
	// The backend does not say who it is, as others do.
	if r := newProber().ask(ctx, net.JoinHostPort(address, p.port), fastHost); r.status != http.StatusOK {
		return fmt.Errorf("%s answers %d (%w)", address, r.status, r.err)
	}
	return nil
}
