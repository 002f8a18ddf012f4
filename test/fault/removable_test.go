//go:build fault

package fault

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

// removable is something that can be removed from a Gateway and brought back. It needs little else: a proxy that serves nothing else lets
// go of the most.
type removable struct {
	name string
	add  func(t *testing.T, s *scenario) *part
}

// removables are all of them. The first six are removed alone with SHORT=1.
var removables = []removable{
	{"a listener", addListener},
	{"a ListenerSet", addListenerSet},
	{"a certificate", addCertificate},
	{"an HTTPS route beside a catch-all route", addExactRoute},
	{"a Gateway", addGateway},
	{"a GatewayClass", addClass},
	{"the definition of TLSRoutes", addDefinition},
	{"a Service", addService},
	{"an XBackend", addXBackend},
	{"a BackendTLSPolicy", addBackendTLS},
	{"an XBackendTrafficPolicy", addTrafficPolicy},
	{"a ProxyConfig", addProxyConfig},
	{"a TCPRoute", addTCPRoute},
	{"a route with a wildcard", addWildcard},
}

// route is one to the echo pods, for a listener of the scenario.
func (s *scenario) route(name, host string, listener gwv1.SectionName) *gwv1.HTTPRoute {
	route := live.HTTPRoute(s.name+"-"+name, s.name, host, serviceName)
	route.Spec.ParentRefs[0].SectionName = &listener
	return route
}

func (s *scenario) host(name string) string { return name + "." + s.name + ".example.com" }

// http adds the listener of port 80.
func (s *scenario) http() gwv1.SectionName {
	s.listen(gwv1.Listener{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType})
	return "http"
}

// https adds a listener with a certificate for a host, and returns the Secret.
func (s *scenario) https(t *testing.T, name string, port gwv1.PortNumber, host string) *corev1.Secret {
	t.Helper()
	secret := live.TLSSecret(t, s.name+"-"+name, host)
	s.listen(gwv1.Listener{Name: gwv1.SectionName(name), Port: port, Protocol: gwv1.HTTPSProtocolType, TLS: &gwv1.ListenerTLSConfig{
		CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName(secret.Name)}},
	}})
	return secret
}

func addListener(_ *testing.T, s *scenario) *part {
	const port = 8080
	s.http()
	alt := gwv1.Listener{Name: "alt", Port: port, Protocol: gwv1.HTTPProtocolType}
	s.listen(alt)
	isAlt := func(l gwv1.Listener) bool { return l.Name == alt.Name }
	host := s.host("listener")
	s.need(s.route("listener", host, alt.Name))
	return &part{
		name: "a listener", ask: s.asks(port, host),
		remove: func(ctx context.Context) error {
			// The Gateway may be gone already.
			return client.IgnoreNotFound(s.edit(ctx, func(g *gwv1.Gateway) { g.Spec.Listeners = slices.DeleteFunc(g.Spec.Listeners, isAlt) }))
		},
		restore: func(ctx context.Context) error {
			return s.edit(ctx, func(g *gwv1.Gateway) { g.Spec.Listeners = append(slices.DeleteFunc(g.Spec.Listeners, isAlt), alt) })
		},
	}
}

func addListenerSet(t *testing.T, s *scenario) *part {
	t.Helper()
	const port = 8443
	host := s.host("set")
	s.http()
	s.gateway.Spec.AllowedListeners = &gwv1.AllowedListeners{Namespaces: &gwv1.ListenerNamespaces{From: new(gwv1.NamespacesFromSame)}}
	secret := live.TLSSecret(t, s.name+"-set", host)
	set := &gwv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-set"}}
	set.Spec.ParentRef.Name = gwv1.ObjectName(s.name)
	set.Spec.Listeners = []gwv1.ListenerEntry{{
		Name: "https", Port: port, Protocol: gwv1.HTTPSProtocolType, Hostname: new(gwv1.Hostname(host)),
		TLS: &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName(secret.Name)}}},
	}}
	route := s.route("set", host, "https")
	route.Spec.ParentRefs[0].Kind, route.Spec.ParentRefs[0].Name = new(gwv1.Kind("ListenerSet")), gwv1.ObjectName(set.Name)
	s.need(secret, set, route)
	return s.returning("a ListenerSet", s.asksSecurely(port, host), set)
}

func addCertificate(t *testing.T, s *scenario) *part {
	t.Helper()
	const port = 443
	host := s.host("certificate")
	secret := s.https(t, "certificate", port, host)
	s.need(secret, s.route("certificate", host, "certificate"))
	return s.returning("a certificate", s.asksSecurely(port, host), secret)
}

func addExactRoute(t *testing.T, s *scenario) *part {
	t.Helper()
	const port = 9443
	host := s.host("exact")
	secret := s.https(t, "exact", port, "*."+s.name+".example.com")
	beside := s.route("exact-catch-all", host, "exact")
	beside.Spec.Hostnames = nil
	route := s.route("exact", host, "exact")
	s.need(secret, beside, route)
	exact, catchAll := s.asksSecurely(port, host), s.asksSecurely(port, s.host("other"))
	p := s.returning("an HTTPS route beside a catch-all route", exact, route)
	p.stays = catchAll
	return p
}

func addGateway(_ *testing.T, s *scenario) *part {
	host := s.host("gateway")
	s.need(s.route("gateway", host, s.http()))
	return &part{
		name: "a Gateway", ask: s.asks(80, host), whole: true,
		remove:  func(ctx context.Context) error { return s.w.deleteNow(ctx, s.gateway) },
		restore: func(ctx context.Context) error { return s.w.createAgain(ctx, s.gateway) },
	}
}

func addClass(t *testing.T, s *scenario) *part {
	t.Helper()
	class := &gwv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.w.Namespace + "-" + s.name},
		Spec:       gwv1.GatewayClassSpec{ControllerName: live.ControllerName},
	}
	if err := s.w.createAgain(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		if err := client.IgnoreNotFound(s.w.Delete(context.Background(), class)); err != nil {
			t.Errorf("delete GatewayClass %s: %v", class.Name, err)
		}
	})
	s.gateway.Spec.GatewayClassName = gwv1.ObjectName(class.Name)
	host := s.host("class")
	s.need(s.route("class", host, s.http()))
	p := s.returning("a GatewayClass", s.asks(80, host), class)
	p.whole = true
	return p
}

func addDefinition(t *testing.T, s *scenario) *part {
	t.Helper()
	const port = 8444
	host, service := s.host("passed"), s.name+"-passed"
	s.w.serveSecurely(t, service, host)
	s.listen(gwv1.Listener{
		Name: "passed", Port: port, Protocol: gwv1.TLSProtocolType,
		TLS: &gwv1.ListenerTLSConfig{Mode: new(gwv1.TLSModePassthrough)},
	})
	route := &gwv1.TLSRoute{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-passed"}}
	route.Spec.ParentRefs = []gwv1.ParentReference{{Name: gwv1.ObjectName(s.name), SectionName: new(gwv1.SectionName("passed"))}}
	route.Spec.Hostnames = []gwv1.Hostname{gwv1.Hostname(host)}
	backend := gwv1.BackendRef{}
	backend.Name, backend.Port = gwv1.ObjectName(service), new(gwv1.PortNumber(80))
	route.Spec.Rules = []gwv1.TLSRouteRule{{BackendRefs: []gwv1.BackendRef{backend}}}
	s.need(route)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := s.w.Get(t.Context(), client.ObjectKey{Name: "tlsroutes." + gwv1.GroupName}, definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now, and all other tests need the definition.
		if err := client.IgnoreAlreadyExists(s.w.createAgain(context.Background(), definition)); err != nil {
			t.Errorf("restore %s: %v", definition.Name, err)
		}
	})
	return &part{
		name: "the definition of TLSRoutes", ask: s.asksSecurely(port, host),
		remove: func(ctx context.Context) error { return s.w.deleteNow(ctx, definition) },
		restore: func(ctx context.Context) error {
			if err := s.w.createAgain(ctx, definition); err != nil {
				return err
			}
			return retry(ctx, 30*time.Second, func() error { return s.w.createAgain(ctx, route) })
		},
	}
}

func addService(_ *testing.T, s *scenario) *part {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-service"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": serviceName}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(live.EchoPort)}},
	}}
	host := s.host("service")
	route := s.route("service", host, s.http())
	route.Spec.Rules[0].BackendRefs[0].Name = gwv1.ObjectName(service.Name)
	s.need(service, route)
	return s.returning("a Service", s.asks(80, host), service)
}

func addXBackend(_ *testing.T, s *scenario) *part {
	backend := &gwxv1alpha1.XBackend{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-pods"}}
	backend.Spec.Type, backend.Spec.Port.Number = gwxv1alpha1.BackendTypeEndpointSelector, live.EchoPort
	backend.Spec.EndpointSelector = &gwxv1alpha1.EndpointSelectorBackend{}
	backend.Spec.EndpointSelector.MatchLabels = map[gwv1.LabelKey]gwv1.LabelValue{"app": serviceName}
	host := s.host("xbackend")
	route := toXBackend(s.route("xbackend", host, s.http()), backend.Name)
	s.need(backend, route)
	return s.returning("an XBackend", s.asks(80, host), backend)
}

// toXBackend has the first backend of a route be an XBackend.
func toXBackend(route *gwv1.HTTPRoute, name string) *gwv1.HTTPRoute {
	route.Spec.Rules[0].BackendRefs[0].BackendObjectReference = gwv1.BackendObjectReference{
		Group: new(gwv1.Group(gwxv1alpha1.GroupName)), Kind: new(gwv1.Kind("XBackend")), Name: gwv1.ObjectName(name),
	}
	return route
}

func addBackendTLS(t *testing.T, s *scenario) *part {
	t.Helper()
	name, host := s.name+"-tls", s.host("tls")
	certificate := s.w.serveSecurely(t, name, host)
	s.w.trusted(t, name, certificate)
	policy := backendTLS(metav1.ObjectMeta{Name: name}, name, host, name)
	route := s.route("tls", host, s.http())
	route.Spec.Rules[0].BackendRefs[0].Name = gwv1.ObjectName(name)
	s.need(policy, route)
	return s.returning("a BackendTLSPolicy", s.asks(80, host), policy)
}

// serveSecurely answers by TLS in the test itself, and returns the certificate, which signed itself.
func (w *fixture) serveSecurely(t *testing.T, service, host string) []byte {
	t.Helper()
	certificate, key := live.KeyPair(t, host)
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	listener := tls.NewListener(w.ListenHere(t, service), &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(response).Encode(live.Answer{Pod: service})
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return certificate
}

func addTrafficPolicy(_ *testing.T, s *scenario) *part {
	// A Service of its own: policies for the same one would conflict.
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-budget"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": serviceName}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(live.EchoPort)}},
	}}
	policy := &gwxv1alpha1.XBackendTrafficPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.name + "-budget"},
		Spec: gwxv1alpha1.BackendTrafficPolicySpec{
			TargetRefs:      []gwv1.LocalPolicyTargetReference{{Kind: "Service", Name: gwv1.ObjectName(service.Name)}},
			RetryConstraint: retryBudget(20),
		},
	}
	host := s.host("budget")
	route := s.route("budget", host, s.http())
	route.Spec.Rules[0].BackendRefs[0].Name = gwv1.ObjectName(service.Name)
	s.need(service, policy, route)
	p := s.returning("an XBackendTrafficPolicy", s.asks(80, host), policy)
	p.stays = p.ask
	return p
}

func addProxyConfig(_ *testing.T, s *scenario) *part {
	config := &v1alpha1.ProxyConfig{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: v1alpha1.ProxyConfigSpec{Concurrency: new(int32(1))}}
	s.gateway.Spec.Infrastructure = &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
		Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: s.name,
	}}
	host := s.host("config")
	s.need(config, s.route("config", host, s.http()))
	p := s.returning("a ProxyConfig", s.asks(80, host), config)
	p.stays = p.ask
	return p
}

func addTCPRoute(_ *testing.T, s *scenario) *part {
	const port = 9000
	s.listen(gwv1.Listener{Name: "tcp", Port: port, Protocol: gwv1.TCPProtocolType})
	route := &gwv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-tcp"}}
	route.Spec.ParentRefs = []gwv1.ParentReference{{Name: gwv1.ObjectName(s.name), SectionName: new(gwv1.SectionName("tcp"))}}
	backend := gwv1.BackendRef{}
	backend.Name, backend.Port = serviceName, new(gwv1.PortNumber(80))
	route.Spec.Rules = []gwv1.TCPRouteRule{{BackendRefs: []gwv1.BackendRef{backend}}}
	s.need(route)
	return s.returning("a TCPRoute", s.asks(port, s.host("tcp")), route)
}

func addWildcard(_ *testing.T, s *scenario) *part {
	const port = 8081
	s.listen(gwv1.Listener{Name: "wild", Port: port, Protocol: gwv1.HTTPProtocolType})
	route := s.route("wild", "*."+s.host("wild"), "wild")
	s.need(route)
	return s.returning("a route with a wildcard", s.asks(port, fmt.Sprintf("%d.%s", port, s.host("wild"))), route)
}

// asks sends a request to a port of the Gateway.
func (s *scenario) asks(port int, host string) func(context.Context) error {
	return func(ctx context.Context) error {
		address, err := s.where(ctx)
		if err == nil {
			_, err = s.w.Request(ctx, net.JoinHostPort(address, fmt.Sprint(port)), host)
		}
		return s.forget(err)
	}
}

// asksSecurely sends one by TLS.
func (s *scenario) asksSecurely(port int, host string) func(context.Context) error {
	return func(ctx context.Context) error {
		address, err := s.where(ctx)
		if err == nil {
			err = live.ServedSecurely(ctx, net.JoinHostPort(address, fmt.Sprint(port)), host)
		}
		return s.forget(err)
	}
}
