//go:build fault

package fault

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

const (
	mutualName = "mutual"
	// referenceLimit is how long an answer may take.
	referenceLimit = 2 * time.Second
)

// referenceDialer does not wait for a port that is not there.
var referenceDialer = &net.Dialer{Timeout: referenceLimit / 4}

// askers are a client of HTTP/1.1 and one of HTTP/2 without TLS. They open a connection for each request, and follow no redirect.
func askers() (http1, http2 *http.Client) {
	client := func(versions *http.Protocols) *http.Client {
		transport := &http.Transport{DisableKeepAlives: true, DialContext: referenceDialer.DialContext, Protocols: versions}
		return &http.Client{
			Transport:     clock.Transport{Base: transport, Limit: referenceLimit},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	first, second := &http.Protocols{}, &http.Protocols{}
	first.SetHTTP1(true)
	second.SetUnencryptedHTTP2(true)
	return client(first), client(second)
}

// serve makes a Service whose requests the test answers, by HTTP/1.1 and HTTP/2.
func (r *references) serve(t *testing.T, in *live.Fixture, name string, handler http.Handler) {
	t.Helper()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	listener := in.ListenHere(t, name)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// echoRequest answers with the headers of a request, and a call of gRPC with success.
func echoRequest(response http.ResponseWriter, request *http.Request) {
	if strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc") {
		response.Header().Set("Content-Type", "application/grpc")
		response.Header().Set("Grpc-Status", "0")
		return
	}
	_ = json.NewEncoder(response).Encode(live.Answer{Pod: "here", Headers: request.Header})
}

// serveMutually answers 200 to those who show a certificate and 401 to all others, by TLS, and returns the port.
func (r *references) serveMutually(t *testing.T) int {
	t.Helper()
	certificate, key := live.KeyPair(t, referenceHost(mutualName))
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	listener := r.ListenHere(t, mutualName)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		if len(request.TLS.PeerCertificates) == 0 {
			rw.WriteHeader(http.StatusUnauthorized)
		}
	})}
	server.TLSConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert,
	}
	// A connection that is kept would keep what its handshake showed.
	server.SetKeepAlivesEnabled(false)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	r.trusted(t, mutualName, certificate)
	r.Make(t, backendTLS(metav1.ObjectMeta{Name: mutualName}, mutualName, referenceHost(mutualName), mutualName))
	endpoint, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%s is not the address of a TCP port", listener.Addr())
	}
	return endpoint.Port
}

// server is a target that counts requests.
func server(t *testing.T, r *references, name string) {
	t.Helper()
	r.serve(t, r.other, name, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		r.arrived[name].Add(1)
		echoRequest(response, request)
	}))
}

// keyServer is a target that counts requests, and answers with keys.
func keyServer(t *testing.T, r *references, name string) {
	t.Helper()
	keys := []byte(r.signer.KeySet())
	r.serve(t, r.other, name, http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		r.arrived[name].Add(1)
		_, _ = response.Write(keys)
	}))
}

// collector is a target that counts what it is told about requests of this round.
func collector(t *testing.T, r *references, name string) {
	t.Helper()
	r.serve(t, r.other, name, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if bytes.Contains(body, []byte(r.roundPath())) {
			r.arrived[name].Add(1)
		}
		echoRequest(response, request)
	}))
}

// connections is a target that counts connections, and closes them.
func connections(t *testing.T, r *references, name string) {
	t.Helper()
	listener := r.other.ListenHere(t, name)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			r.arrived[name].Add(1)
			_ = connection.Close()
		}
	}()
}

// datagramCounter is a target that counts datagrams.
func datagramCounter(t *testing.T, r *references, name string) {
	t.Helper()
	address := r.NodeAddress(t)
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	endpoint, ok := socket.LocalAddr().(*net.UDPAddr)
	if !ok {
		t.Fatalf("%s is not the address of a UDP port", socket.LocalAddr())
	}
	service := live.ManualService(name)
	service.Spec.Ports[0].Protocol = corev1.ProtocolUDP
	slice := live.EndpointSlice(name, address)
	slice.Ports = []discoveryv1.EndpointPort{{
		Name: new("http"), Port: new(int32(endpoint.Port)), Protocol: new(corev1.ProtocolUDP), //nolint:gosec // a UDP port
	}}
	r.other.Make(t, service, slice)
	go func() {
		for buffer := make([]byte, 64); ; {
			if _, _, err := socket.ReadFrom(buffer); err != nil {
				return
			}
			r.arrived[name].Add(1)
		}
	}()
}

func (r *references) roundPath() string { return fmt.Sprintf("/round-%d-", r.round.Load()) }

// fetch asks for a path of a host, with headers in pairs.
func (r *references) fetch(ctx context.Context, address, host, path string, headers ...string) (int, live.Answer) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+live.Host(address)+path, http.NoBody)
	if err != nil {
		return 0, live.Answer{}
	}
	request.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := r.http.Do(request)
	if err != nil {
		return 0, live.Answer{}
	}
	defer func() { _ = response.Body.Close() }()
	var answer live.Answer
	if body, err := io.ReadAll(response.Body); err == nil {
		_ = json.Unmarshal(body, &answer)
	}
	return response.StatusCode, answer
}

// asker asks for the host of a reference, and says whether the answer shows that its target is used.
type asker func(ctx context.Context, r *references, name string) bool

// get leaves it to the target to count.
func get(ctx context.Context, r *references, name string) bool {
	r.fetch(ctx, r.address, referenceHost(name), "/")
	return false
}

// answered wants a status.
func answered(status int) asker {
	return func(ctx context.Context, r *references, name string) bool {
		got, _ := r.fetch(ctx, r.address, referenceHost(name), "/")
		return got == status
	}
}

// healthy wants the Gateway of the other namespace to answer health checks.
func healthy(ctx context.Context, r *references, _ string) bool {
	status, _ := r.fetch(ctx, r.selected, referenceHost("selected"), "/healthz")
	return status == http.StatusOK
}

// usedHeader is one that only a proxy which uses the target sends.
const usedHeader = "X-Used"

// saw wants the backend to see a header. A header of the request that is empty has the token.
func saw(value string, headers ...string) asker {
	return func(ctx context.Context, r *references, name string) bool {
		sent := append([]string{}, headers...)
		for i := range sent {
			if sent[i] == "" {
				sent[i] = r.token
			}
		}
		_, answer := r.fetch(ctx, r.address, referenceHost(name), "/", sent...)
		got := answer.Headers[usedHeader]
		return len(got) == 1 && got[0] == value
	}
}

// call sends a call of gRPC.
func call(ctx context.Context, r *references, name string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+live.Host(r.address)+"/test.Service/Method", http.NoBody)
	if err != nil {
		return false
	}
	request.Host = referenceHost(name)
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	if response, err := r.http2.Do(request); err == nil {
		_ = response.Body.Close()
	}
	return false
}

// traced sends as many requests as are enough for telemetry to be sent.
func traced(ctx context.Context, r *references, _ string) bool {
	const enough = 12
	for i := range enough {
		r.fetch(ctx, r.address, referenceHost("plain"), fmt.Sprint(r.roundPath(), i))
	}
	return false
}

// connect opens a connection to a port, sends something and waits for its end.
func connect(network string, port int) asker {
	return func(ctx context.Context, r *references, _ string) bool {
		connection, err := referenceDialer.DialContext(ctx, network, net.JoinHostPort(r.address, fmt.Sprint(port)))
		if err != nil {
			return false
		}
		defer func() { _ = connection.Close() }()
		_ = connection.SetDeadline(time.Now().Add(referenceLimit))
		_, _ = connection.Write([]byte("hello"))
		if network == "tcp" {
			_, _ = io.Copy(io.Discard, connection)
		}
		return false
	}
}

// handshake wants a port to complete one.
func handshake(port int) asker {
	return func(ctx context.Context, r *references, name string) bool {
		connection, err := r.shakeHands(ctx, port, name)
		if err != nil {
			return false
		}
		_ = connection.Close()
		return true
	}
}

// admitted wants a request with a client certificate to be answered.
func admitted(port int) asker {
	return func(ctx context.Context, r *references, name string) bool {
		connection, err := r.shakeHands(ctx, port, name)
		if err != nil {
			return false
		}
		defer func() { _ = connection.Close() }()
		_ = connection.SetDeadline(time.Now().Add(referenceLimit))
		_, _ = fmt.Fprintf(connection, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", referenceHost(name))
		answer, _ := io.ReadAll(connection)
		return bytes.HasPrefix(answer, []byte("HTTP/1.1 200"))
	}
}

// shakeHands opens a connection by TLS, with a client certificate.
func (r *references) shakeHands(ctx context.Context, port int, name string) (net.Conn, error) {
	ctx, cancel := clock.WithTimeout(ctx, referenceLimit)
	defer cancel()
	dialer := &tls.Dialer{NetDialer: referenceDialer, Config: &tls.Config{
		ServerName: referenceHost(name), Certificates: []tls.Certificate{r.certificate},
		InsecureSkipVerify: true, //nolint:gosec // what is served counts, not by whom
	}}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(r.address, fmt.Sprint(port)))
	if err != nil {
		return nil, fmt.Errorf("shake hands: %w", err)
	}
	return connection, nil
}
