package live

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServeHere makes a Service whose requests the test itself answers.
func (w *Fixture) ServeHere(t *testing.T, name string, handler http.HandlerFunc) (stop func()) {
	t.Helper()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	listener := w.ListenHere(t, name)
	go func() { _ = server.Serve(listener) }()
	stop = func() { _ = server.Close() }
	t.Cleanup(stop)
	return stop
}

// ListenHere makes a Service whose only endpoint is a port of the test itself, on the address of the node it runs on.
func (w *Fixture) ListenHere(t *testing.T, name string) net.Listener {
	t.Helper()
	address := w.NodeAddress(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	endpoint, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%s is not the address of a TCP port", listener.Addr())
	}
	port := int32(endpoint.Port) //nolint:gosec // a TCP port
	w.Make(t,
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "here", Port: 80}}},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			AddressType: addressType(address),
			Ports:       []discoveryv1.EndpointPort{{Name: new("here"), Port: new(port)}},
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		})
	return listener
}

// addressType is that of the slices in which an address can be.
func addressType(address string) discoveryv1.AddressType {
	if strings.Contains(address, ":") {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// NodeAddress is the address of the node that the test runs on.
func (w *Fixture) NodeAddress(t *testing.T) string {
	t.Helper()
	var nodes corev1.NodeList
	if err := w.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		for _, a := range nodes.Items[i].Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address
			}
		}
	}
	t.Fatal("no node has an address")
	return ""
}
