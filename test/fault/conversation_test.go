//go:build fault

package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
)

const (
	// A conversation takes five seconds: a message each way every quarter of a second.
	messages     = 20
	messagePause = 250 * time.Millisecond
	// messageLimit is how long the answer to one may take.
	messageLimit = 5 * time.Second

	echoHost    = "talk.example.com"
	echoService = "talk"
	echoMethod  = "/gatewright.test.Talk/Echo"
)

// repeated gives as many talkers.
func repeated(n int, conversation func(i int) func() error) []func() error {
	conversations := make([]func() error, n)
	for i := range conversations {
		conversations[i] = conversation(i)
	}
	return conversations
}

// webSocket holds one conversation over a WebSocket, from the handshake to the close: every message comes back.
func (w *fixture) webSocket(int) func() error {
	return func() error {
		dialer := &websocket.Dialer{HandshakeTimeout: messageLimit, NetDialContext: func(
			ctx context.Context, network, _ string,
		) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(w.address, "80"))
		}}
		connection, response, err := dialer.Dial("ws://"+steadyHost+"/ws", http.Header{"Origin": {"http://" + steadyHost}})
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		_ = response.Body.Close()
		defer func() { _ = connection.Close() }()
		for i := range messages {
			if err := webSocketMessage(connection, fmt.Sprint("message ", i)); err != nil {
				return err
			}
			time.Sleep(messagePause)
		}
		closing := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		if err := connection.WriteControl(websocket.CloseMessage, closing, time.Now().Add(messageLimit)); err != nil {
			return fmt.Errorf("close: %w", err)
		}
		return nil
	}
}

func webSocketMessage(connection *websocket.Conn, text string) error {
	if err := connection.SetReadDeadline(time.Now().Add(messageLimit)); err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	if err := connection.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	_, answer, err := connection.ReadMessage()
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	if string(answer) != text {
		return errors.New("another message came back")
	}
	return nil
}

// serveEcho makes a host whose gRPC streams the test itself answers: what comes in goes back.
func (w *fixture) serveEcho(t *testing.T) {
	t.Helper()
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "gatewright.test.Talk", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Echo", ServerStreams: true, ClientStreams: true, Handler: echoStream}},
	}, nil)
	listener := w.ListenHere(t, echoService)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	w.Make(t, &gwv1.GRPCRoute{
		ObjectMeta: metav1.ObjectMeta{Name: echoService},
		Spec: gwv1.GRPCRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: gatewayName}}},
			Hostnames:       []gwv1.Hostname{echoHost},
			Rules: []gwv1.GRPCRouteRule{{BackendRefs: []gwv1.GRPCBackendRef{{BackendRef: gwv1.BackendRef{
				BackendObjectReference: gwv1.BackendObjectReference{Name: echoService, Port: new(gwv1.PortNumber(80))},
			}}}}},
		},
	})
	command(t, "", "kubectl", "wait", "--namespace="+w.Namespace, "grpcroute/"+echoService, "--for="+waitProgrammed, "--timeout=30s")
}

func echoStream(_ any, stream grpc.ServerStream) error {
	for {
		message := &wrapperspb.StringValue{}
		err := stream.RecvMsg(message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = stream.SendMsg(message)
		}
		if err != nil {
			return err //nolint:wrapcheck // it goes to gRPC, from where it came
		}
	}
}

// grpcStream holds one conversation after the other on a client of its own, which keeps its connection for as long as it is not told to
// leave it. Each is a stream in both directions that ends with the status OK.
func (w *fixture) grpcStream(t *testing.T) func(int) func() error {
	t.Helper()
	return func(int) func() error {
		client, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(w.address, "80"),
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(echoHost), grpc.WithDisableRetry())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return func() error { return converse(client) }
	}
}

func converse(client *grpc.ClientConn) error {
	ctx, cancel := clock.WithTimeout(metadata.NewOutgoingContext(context.Background(), nil), messages*messagePause+messageLimit)
	defer cancel()
	stream, err := client.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, echoMethod)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	answer := &wrapperspb.StringValue{}
	for i := range messages {
		text := fmt.Sprint("message ", i)
		if err := errors.Join(stream.SendMsg(wrapperspb.String(text)), stream.RecvMsg(answer)); err != nil {
			return fmt.Errorf("message: %w", err)
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

// idle opens an HTTP/2 connection and sends nothing on it. What it returns waits for the connection's end, and says if it came without
// the notice that HTTP/2 has for it.
func (w *fixture) idle(t *testing.T) func() error {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(w.address, "80"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	framer := http2.NewFramer(connection, connection)
	if _, err := io.Copy(connection, strings.NewReader(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- untilGoAway(framer) }()
	return func() error {
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Minute):
			return errors.New("the connection is still open")
		}
	}
}

func untilGoAway(framer *http2.Framer) error {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return fmt.Errorf("the connection ended without a notice: %w", err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				if err := framer.WriteSettingsAck(); err != nil {
					return fmt.Errorf("acknowledge settings: %w", err)
				}
			}
		case *http2.GoAwayFrame:
			if frame.ErrCode != http2.ErrCodeNo {
				return fmt.Errorf("the notice says %s", frame.ErrCode)
			}
			return nil
		}
	}
}
