//go:build translation

package translation

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/ir"
)

// choice is what a picker does with one request.
type choice struct {
	// header and metadata name endpoints; an empty one is not set.
	header, metadata string
	// immediate is a status that the picker answers itself, 0 for none.
	immediate int
	// hang never answers, garbage answers what was not asked for, and fail ends the stream with an error.
	hang, garbage, fail bool
}

// both is what the standard asks for.
func both(endpoints ...string) choice {
	list := strings.Join(endpoints, ",")
	return choice{header: list, metadata: list}
}

// picker is an endpoint picker. It answers once it has the whole request, as the endpoint picker protocol allows.
type picker struct {
	extprocv3.UnimplementedExternalProcessorServer

	name   string
	choose func(http.Header) choice
	// address is where it listens, the same after a restart.
	address string
	server  *grpc.Server
	certs   *tls.Certificate

	mu sync.Mutex
	// asked is how many requests it was asked about, and served are the endpoints that it was told about afterwards.
	asked  int
	served []string
	// prompt is how many bytes the last request had.
	prompt int
}

func newPicker(t *testing.T, name string, choose func(http.Header) choice) *picker {
	t.Helper()
	p := &picker{name: name, choose: choose, address: "127.0.0.1:0"}
	p.start(t)
	t.Cleanup(p.stop)
	return p
}

func (p *picker) start(t *testing.T) {
	t.Helper()
	var listener net.Listener
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var err error
		if listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", p.address); err == nil {
			break
		}
		if time.Since(start) > timeout {
			t.Fatal(err)
		}
	}
	p.address = listener.Addr().String()
	var options []grpc.ServerOption
	if p.certs != nil {
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(p.certs)))
	}
	p.server = grpc.NewServer(options...)
	extprocv3.RegisterExternalProcessorServer(p.server, p)
	server := p.server
	go func() { _ = server.Serve(listener) }()
}

func (p *picker) stop() { p.server.Stop() }

// seen is how many requests it was asked about, the endpoints that it was told about, and the size of the last request.
func (p *picker) seen() (asked int, served []string, prompt int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, append([]string(nil), p.served...), p.prompt
}

// Process implements [extprocv3.ExternalProcessorServer].
func (p *picker) Process(stream extprocv3.ExternalProcessor_ProcessServer) error {
	var headers http.Header
	var body []byte
	var subset []string
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled {
			return nil
		}
		if err != nil {
			return err
		}
		switch m := message.GetRequest().(type) {
		case *extprocv3.ProcessingRequest_RequestHeaders:
			headers, subset = headersOf(m.RequestHeaders), subsetOf(message)
			if m.RequestHeaders.GetEndOfStream() {
				err = p.answer(stream, p.choice(headers, subset), nil)
			}
		case *extprocv3.ProcessingRequest_RequestBody:
			body = append(body, m.RequestBody.GetBody()...)
			if m.RequestBody.GetEndOfStream() {
				err = p.answer(stream, p.choice(headers, subset), body)
			}
		case *extprocv3.ProcessingRequest_ResponseHeaders:
			p.note(message)
			err = stream.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseHeaders{
				ResponseHeaders: &extprocv3.HeadersResponse{Response: setHeaders(map[string]string{"x-picker": p.name})},
			}})
		case *extprocv3.ProcessingRequest_ResponseBody:
			err = stream.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseBody{
				ResponseBody: streamed(m.ResponseBody.GetBody(), m.ResponseBody.GetEndOfStream()),
			}})
		case *extprocv3.ProcessingRequest_ResponseTrailers:
			err = stream.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseTrailers{
				ResponseTrailers: &extprocv3.TrailersResponse{},
			}})
		}
		if err != nil {
			return err
		}
	}
}

// note remembers the endpoint that served a request.
func (p *picker) note(message *extprocv3.ProcessingRequest) {
	fields := message.GetMetadataContext().GetFilterMetadata()[ir.DestinationMetadata].GetFields()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = append(p.served, fields[ir.DestinationEndpointServed].GetStringValue())
}

// choice is that of the test, or the subset that the picker must choose from.
func (p *picker) choice(headers http.Header, subset []string) choice {
	if len(subset) > 0 {
		return both(subset...)
	}
	return p.choose(headers)
}

// subsetOf are the endpoints that a picker must choose from, if the proxy names them.
func subsetOf(message *extprocv3.ProcessingRequest) []string {
	fields := message.GetMetadataContext().GetFilterMetadata()[ir.SubsetMetadata].GetFields()
	var endpoints []string
	for _, value := range fields[subsetKey].GetListValue().GetValues() {
		endpoints = append(endpoints, value.GetStringValue())
	}
	return endpoints
}

// chunk is what the standard recommends as the most for one message.
const chunk = 64 << 10

// answer says where a request is to go, and returns its body.
func (p *picker) answer(stream extprocv3.ExternalProcessor_ProcessServer, c choice, body []byte) error {
	p.mu.Lock()
	p.asked++
	p.prompt = len(body)
	p.mu.Unlock()
	switch {
	case c.hang:
		<-stream.Context().Done()
		return nil
	case c.fail:
		return status.Error(codes.Internal, "the picker is broken")
	case c.garbage:
		return stream.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{
			RequestBody: &extprocv3.BodyResponse{},
		}})
	case c.immediate != 0:
		return stream.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{
			ImmediateResponse: &extprocv3.ImmediateResponse{
				Status: &typev3.HttpStatus{Code: typev3.StatusCode(c.immediate)}, //nolint:gosec // a status
			},
		}})
	}
	response := &extprocv3.HeadersResponse{Response: &extprocv3.CommonResponse{}}
	if c.header != "" {
		response.Response = setHeaders(map[string]string{ir.DestinationEndpoint: c.header})
	}
	// Some pickers ask for another look at routes.
	response.Response.ClearRouteCache = true
	first := &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: response}}
	if c.metadata != "" {
		var err error
		if first.DynamicMetadata, err = structpb.NewStruct(map[string]any{
			ir.DestinationMetadata: map[string]any{ir.DestinationEndpoint: c.metadata},
		}); err != nil {
			return err
		}
	}
	if err := stream.Send(first); err != nil || body == nil {
		return err
	}
	for {
		n := min(chunk, len(body))
		part := streamed(body[:n], n == len(body))
		err := stream.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: part}})
		if err != nil || n == len(body) {
			return err
		}
		body = body[n:]
	}
}

func streamed(body []byte, last bool) *extprocv3.BodyResponse {
	return &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
		Mutation: &extprocv3.BodyMutation_StreamedResponse{StreamedResponse: &extprocv3.StreamedBodyResponse{Body: body, EndOfStream: last}},
	}}}
}

func setHeaders(headers map[string]string) *extprocv3.CommonResponse {
	edit := &extprocv3.HeaderMutation{}
	for name, value := range headers {
		edit.SetHeaders = append(edit.SetHeaders, &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, RawValue: []byte(value)}})
	}
	return &extprocv3.CommonResponse{HeaderMutation: edit}
}

func headersOf(m *extprocv3.HttpHeaders) http.Header {
	headers := http.Header{}
	for _, h := range m.GetHeaders().GetHeaders() {
		headers.Add(h.GetKey(), string(h.GetRawValue()))
	}
	return headers
}

// subsetKey is the key of the metadata that names the endpoints to choose from.
const subsetKey = "x-gateway-destination-endpoint-subset"

// subsetter is a server of an Extension that names the endpoints that a picker must choose from.
type subsetter struct {
	extprocv3.UnimplementedExternalProcessorServer

	endpoints []any
}

// Process implements [extprocv3.ExternalProcessorServer].
func (s subsetter) Process(stream extprocv3.ExternalProcessor_ProcessServer) error {
	metadata, err := structpb.NewStruct(map[string]any{ir.SubsetMetadata: map[string]any{subsetKey: s.endpoints}})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return stream.Send(&extprocv3.ProcessingResponse{DynamicMetadata: metadata, Response: &extprocv3.ProcessingResponse_RequestHeaders{
		RequestHeaders: &extprocv3.HeadersResponse{},
	}})
}
