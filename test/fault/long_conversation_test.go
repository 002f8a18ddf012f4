//go:build fault

package fault

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// chunk is what a slow upload or download sends every messagePause.
var chunk = make([]byte, 1024)

// longConversation goes on until a point in time. It returns how it was cut, and nil when it came to its own end.
type longConversation func(until time.Time) error

// longWebSocket is one WebSocket, over TLS if it is secure.
func (w *fixture) longWebSocket(secure bool) longConversation {
	scheme, port := "ws", "80"
	if secure {
		scheme, port = "wss", "443"
	}
	return func(until time.Time) error {
		dialer := &websocket.Dialer{
			HandshakeTimeout: messageLimit,
			TLSClientConfig:  &tls.Config{ServerName: anyHost, InsecureSkipVerify: true}, //nolint:gosec // it is about the connection
			NetDialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(w.address, port))
			},
		}
		connection, response, err := dialer.Dial(scheme+"://"+anyHost+"/ws", http.Header{"Origin": {"http://" + anyHost}})
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		_ = response.Body.Close()
		defer func() { _ = connection.Close() }()
		for i := 0; time.Now().Before(until); i++ {
			if err := webSocketMessage(connection, fmt.Sprint("message ", i)); err != nil {
				return err
			}
			time.Sleep(messagePause)
		}
		return nil
	}
}

// longStream is one gRPC stream in both directions.
func (w *fixture) longStream(until time.Time) error {
	target, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(w.address, "80"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(anyHost), grpc.WithDisableRetry())
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer func() { _ = target.Close() }()
	ctx, cancel := clock.WithTimeout(context.Background(), time.Until(until)+messageLimit)
	defer cancel()
	stream, err := target.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, echoMethod)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	answer := &wrapperspb.StringValue{}
	for i := 0; time.Now().Before(until); i++ {
		text := fmt.Sprint("message ", i)
		if err := errors.Join(stream.SendMsg(wrapperspb.String(text)), stream.RecvMsg(answer)); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if answer.GetValue() != text {
			return errors.New("another message came back")
		}
		time.Sleep(messagePause)
	}
	if err := stream.CloseSend(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := stream.RecvMsg(answer); !errors.Is(err, io.EOF) {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}

// slowBody is a body that goes on until a point in time, and counts itself.
type slowBody struct {
	until time.Time
	sent  atomic.Int64
}

func (b *slowBody) Read(p []byte) (int, error) {
	if time.Now().After(b.until) {
		return 0, io.EOF
	}
	time.Sleep(messagePause)
	n := copy(p, chunk)
	b.sent.Add(int64(n))
	return n, nil
}

// longUpload sends a body for as long as it takes. The answer says how much of it arrived.
func (w *fixture) longUpload(until time.Time) error {
	body := &slowBody{until: until}
	answer, err := w.transfer(http.MethodPost, "/upload", body)
	if err != nil {
		return err
	}
	if want := fmt.Sprint(body.sent.Load()); string(answer) != want {
		return fmt.Errorf("%s bytes were sent and %s arrived", want, answer)
	}
	return nil
}

// longDownload reads a body for as long as it takes. It ends with the word end.
func (w *fixture) longDownload(until time.Time) error {
	answer, err := w.transfer(http.MethodGet, "/download?until="+until.UTC().Format(time.RFC3339), http.NoBody)
	if err != nil {
		return err
	}
	if len(answer) <= len(downloadEnd) || string(answer[len(answer)-len(downloadEnd):]) != downloadEnd {
		return fmt.Errorf("%d bytes came without an end", len(answer))
	}
	return nil
}

// downloadEnd is what a complete download ends with.
const downloadEnd = "end"

func (w *fixture) transfer(method, path string, body io.Reader) ([]byte, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+w.address+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	request.Host = anyHost
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("transfer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("transfer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("transfer: %s %s", response.Status, answer)
	}
	return answer, nil
}

// serveTransfers answers uploads and downloads in the test itself.
func (w *fixture) serveTransfers(t *testing.T, service string) {
	t.Helper()
	w.ServeHere(t, service, func(response http.ResponseWriter, request *http.Request) {
		until, err := time.Parse(time.RFC3339, request.URL.Query().Get("until"))
		if err != nil {
			n, err := io.Copy(io.Discard, request.Body)
			if err != nil {
				response.WriteHeader(http.StatusBadRequest)
			}
			_, _ = fmt.Fprint(response, n)
			return
		}
		for time.Now().Before(until) {
			if _, err := response.Write(chunk); err != nil {
				return
			}
			_ = http.NewResponseController(response).Flush()
			time.Sleep(messagePause)
		}
		_, _ = io.WriteString(response, downloadEnd)
	})
}

// serveStreams answers gRPC streams in the test itself, at a Service that is spoken to by HTTP/2.
func (w *fixture) serveStreams(t *testing.T, service string) {
	t.Helper()
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "gatewright.test.Talk", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Echo", ServerStreams: true, ClientStreams: true, Handler: echoStream}},
	}, nil)
	listener := w.ListenHere(t, service)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	live.Eventually(t, 10*time.Second, 50*time.Millisecond, func(ctx context.Context) error {
		object := &corev1.Service{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: service}, object); err != nil {
			return fmt.Errorf("get Service %s: %w", service, err)
		}
		object.Spec.Ports[0].AppProtocol = new("kubernetes.io/h2c")
		return w.Update(ctx, object)
	})
}
