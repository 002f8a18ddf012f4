//go:build fault

package fault

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

const (
	loopHost  = "loop.example.com"
	aloneHost = "alone.example.com"
	udpPort   = 5353
	// leastP99 is a time that says nothing about proxies: the machine has other things to do, too.
	leastP99 = 10 * time.Millisecond
)

// TestCase51MirrorsLoopsAndDatagrams copies every request to a backend that never answers, sends requests to a backend that leads back
// to the Gateway, and datagrams from 20,000 sources. What a backend takes of a proxy is bounded, so requests for another notice
// nothing: they are as fast as those of a Gateway that has nothing else to do, at the same time.
func TestCase51MirrorsLoopsAndDatagrams(t *testing.T) {
	t.Parallel()
	c := begin(t, "51", "backends that take all they can")
	w := newFixture(t)
	for range 50 {
		w.WaitServed(t, w.address, steadyHost)
	}
	alone := w.Gateway(t, "alone")
	w.Route(t, "alone", "alone", aloneHost, serviceName)
	w.WaitServed(t, alone, aloneHost)
	run := w.startLoad(t, steadyHost)
	compare := func(what string, while time.Duration) {
		t.Helper()
		here, there := w.p99(t, alone, while)
		c.tookOf(here, "p99 "+what, max(2*there, leastP99))
		c.note("%s on another Gateway", rounded(there))
	}
	compare("before", span(20*time.Second, 10*time.Second))

	copies := w.neverAnswers(t, "stuck")
	w.copyTo(t, "stuck")
	// More copies are made in this time than may be under way at once.
	compare("beside a mirror that never answers", span(time.Minute, 20*time.Second))
	c.note("%s copies", grouped(copies()))

	answered := w.loop(t)
	c.exactly(answered, "looping requests answered 508", loopRequests)
	compare("beside loops", span(20*time.Second, 10*time.Second))

	w.datagrams(t)
	sources := amount(20_000, 12_000)
	sent := make(chan int, 1)
	go func() { sent <- sendDatagrams(net.JoinHostPort(w.address, fmt.Sprint(udpPort)), sources) }()
	compare("beside datagrams of many sources", span(30*time.Second, 15*time.Second))
	c.exactly(<-sent, "sources", sources)

	c.load(run.Stop())
	c.none(w.Restarts(t, gatewayName), "restarts of proxies")
}

// p99 asks for the steady host and for that of the other Gateway in turn for a while, on one connection each, and returns how long the
// slowest hundredth of the answers of each took at least: the median of three parts of the time.
func (w *fixture) p99(t *testing.T, alone string, while time.Duration) (here, there time.Duration) {
	t.Helper()
	var ours, others []time.Duration
	for range 3 {
		one, other := w.p99Once(t, alone, while/3)
		ours, others = append(ours, one), append(others, other)
	}
	slices.Sort(ours)
	slices.Sort(others)
	return ours[1], others[1]
}

// p99Once leaves out pairs of requests in which the machine's cores were stolen.
func (w *fixture) p99Once(t *testing.T, alone string, while time.Duration) (here, there time.Duration) {
	t.Helper()
	client := &http.Client{Transport: clock.Transport{Base: &http.Transport{}, Limit: messageLimit}}
	defer client.CloseIdleConnections()
	timed := func(address, host string) time.Duration {
		start := clock.Now()
		status, err := ask(t.Context(), client, address, host)
		if err != nil || status != http.StatusOK {
			t.Errorf("%s answered %d: %v", host, status, err)
		}
		return clock.Since(start)
	}
	var times, others []time.Duration
	for end := time.Now().Add(while); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		start := clock.Now()
		one, other := timed(w.address, steadyHost), timed(alone, aloneHost)
		if max(one, other) >= leastP99 && clock.WasStolen(start) {
			continue
		}
		times, others = append(times, one), append(others, other)
	}
	slices.Sort(times)
	slices.Sort(others)
	return times[len(times)*99/100], others[len(others)*99/100]
}

func ask(ctx context.Context, client *http.Client, address, host string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("make a request: %w", err)
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask for %s: %w", host, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	if err != nil {
		return 0, fmt.Errorf("read the answer of %s: %w", host, err)
	}
	return response.StatusCode, nil
}

// neverAnswers makes a Service that takes connections, reads what comes and says nothing. It returns how many connections there were.
func (w *fixture) neverAnswers(t *testing.T, name string) func() int {
	t.Helper()
	listener := w.ListenHere(t, name)
	t.Cleanup(func() { _ = listener.Close() })
	accepted := make(chan struct{}, 1<<20)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			go func() { _, _ = io.Copy(io.Discard, connection) }()
		}
	}()
	return func() int { return len(accepted) }
}

// copyTo has all requests for the steady host be copied.
func (w *fixture) copyTo(t *testing.T, service string) {
	t.Helper()
	route := live.HTTPRoute("steady", gatewayName, steadyHost, serviceName)
	route.Namespace = w.Namespace
	w.Edit(t, route, func(r *gwv1.HTTPRoute) {
		r.Spec.Rules[0].Filters = []gwv1.HTTPRouteFilter{{
			Type: gwv1.HTTPRouteFilterRequestMirror,
			RequestMirror: &gwv1.HTTPRequestMirrorFilter{
				BackendRef: gwv1.BackendObjectReference{Name: gwv1.ObjectName(service), Port: new(gwv1.PortNumber(80))},
			},
		}}
	})
}

const loopRequests = 200

// loop sends requests to a backend that is the proxy itself, and returns how many were answered 508.
func (w *fixture) loop(t *testing.T) int {
	t.Helper()
	const name = "loop"
	slice := live.EndpointSlice(name, w.OneProxy(t, gatewayName).Status.PodIP)
	slice.Ports[0].Port = new(int32(80))
	w.Make(t, live.ManualService(name), slice)
	w.Route(t, name, gatewayName, loopHost, name)
	client := &http.Client{Transport: clock.Transport{Base: &http.Transport{}, Limit: messageLimit}}
	defer client.CloseIdleConnections()
	live.Eventually(t, 30*time.Second, 100*time.Millisecond, func(ctx context.Context) error {
		status, err := ask(ctx, client, w.address, loopHost)
		if err == nil && status != http.StatusLoopDetected {
			err = fmt.Errorf("a loop is answered %d", status)
		}
		return err
	})
	answered := 0
	for range loopRequests {
		if status, err := ask(t.Context(), client, w.address, loopHost); err == nil && status == http.StatusLoopDetected {
			answered++
		}
	}
	return answered
}

// datagrams has the Gateway pass datagrams on to the test itself, which answers none.
func (w *fixture) datagrams(t *testing.T) {
	t.Helper()
	const name = "datagrams"
	address := w.NodeAddress(t)
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	arrived := make(chan struct{}, 1)
	go func() {
		for buffer := make([]byte, 64); ; {
			if _, _, err := socket.ReadFrom(buffer); err != nil {
				return
			}
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
	}()
	endpoint, ok := socket.LocalAddr().(*net.UDPAddr)
	if !ok {
		t.Fatalf("%s is not the address of a UDP port", socket.LocalAddr())
	}
	service := live.ManualService(name)
	service.Spec.Ports[0].Port, service.Spec.Ports[0].Protocol = udpPort, corev1.ProtocolUDP
	slice := live.EndpointSlice(name, address)
	slice.Ports = []discoveryv1.EndpointPort{{
		Name: new("http"), Port: new(int32(endpoint.Port)), Protocol: new(corev1.ProtocolUDP), //nolint:gosec // a UDP port
	}}
	w.editGateway(t, gatewayName, func(gateway *gwv1.Gateway) {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, gwv1.Listener{Name: name, Port: udpPort, Protocol: gwv1.UDPProtocolType})
	})
	w.Make(t, service, slice, &gwv1.UDPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gwv1.UDPRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: gatewayName, SectionName: new(gwv1.SectionName(name))}}},
			Rules: []gwv1.UDPRouteRule{{BackendRefs: []gwv1.BackendRef{{
				BackendObjectReference: gwv1.BackendObjectReference{Name: name, Port: new(gwv1.PortNumber(udpPort))},
			}}}},
		},
	})
	live.Eventually(t, 30*time.Second, 100*time.Millisecond, func(context.Context) error {
		sendDatagrams(net.JoinHostPort(w.address, fmt.Sprint(udpPort)), 1)
		select {
		case <-arrived:
			return nil
		case <-time.After(100 * time.Millisecond):
			return fmt.Errorf("no datagram arrives at %s", name)
		}
	})
}

// sendDatagrams sends one datagram from each of so many ports, and returns how many could be sent.
func sendDatagrams(address string, sources int) int {
	const firstPort, lastPort = 10_000, 65_535
	sent := 0
	for port := firstPort; port <= lastPort && sent < sources; port++ {
		dialer := net.Dialer{LocalAddr: &net.UDPAddr{Port: port}}
		connection, err := dialer.Dial("udp", address) //nolint:noctx // it opens a socket and waits for nothing
		if err != nil {
			continue // the port is in use
		}
		if _, err := connection.Write([]byte("hello")); err == nil {
			sent++
		}
		_ = connection.Close()
	}
	return sent
}
