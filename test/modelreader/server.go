package modelreader

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// Header has the model of a request. The server sets or removes it in every request: what a client says there does not count.
const Header = "x-model"

// The dynamic metadata that has the tokens that a response has used.
const (
	Namespace = "usage"
	Key       = "tokens"
)

// Server speaks Envoy's protocol for external processing. The bodies of requests are buffered or streamed both ways, those of responses
// buffered or streamed.
type Server struct {
	extprocv3.UnimplementedExternalProcessorServer

	asked atomic.Int64
}

// Asked is how many requests it has seen.
func (s *Server) Asked() int64 { return s.asked.Load() }

// Process implements [extprocv3.ExternalProcessorServer].
func (s *Server) Process(stream extprocv3.ExternalProcessor_ProcessServer) error {
	var r request
	for {
		message, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF), status.Code(err) == codes.Canceled:
			return nil
		case err != nil:
			return fmt.Errorf("receive: %w", err)
		}
		if message.GetRequestHeaders() != nil {
			s.asked.Add(1)
		}
		for _, answer := range r.answers(message) {
			if err := stream.Send(answer); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
}

// request is one request and its response.
type request struct {
	// duplex says that nothing has to be answered before the whole body is there.
	duplex bool
	// body and response are what is known of the bodies so far.
	body, response []byte
}

func (r *request) answers(message *extprocv3.ProcessingRequest) []*extprocv3.ProcessingResponse {
	if mode := message.GetProtocolConfig(); mode != nil {
		r.duplex = mode.GetRequestBodyMode() == modev3.ProcessingMode_FULL_DUPLEX_STREAMED
	}
	switch m := message.GetRequest().(type) {
	case *extprocv3.ProcessingRequest_RequestHeaders:
		if r.duplex && !m.RequestHeaders.GetEndOfStream() {
			return nil
		}
		return []*extprocv3.ProcessingResponse{headers(setModel(nil))}
	case *extprocv3.ProcessingRequest_RequestBody:
		if !r.duplex {
			return []*extprocv3.ProcessingResponse{{Response: &extprocv3.ProcessingResponse_RequestBody{
				RequestBody: &extprocv3.BodyResponse{Response: setModel(m.RequestBody.GetBody())},
			}}}
		}
		r.body = append(r.body, m.RequestBody.GetBody()...)
		if !m.RequestBody.GetEndOfStream() {
			return nil
		}
		return append([]*extprocv3.ProcessingResponse{headers(setModel(r.body))}, streamed(r.body)...)
	case *extprocv3.ProcessingRequest_ResponseHeaders:
		return []*extprocv3.ProcessingResponse{{Response: &extprocv3.ProcessingResponse_ResponseHeaders{
			ResponseHeaders: &extprocv3.HeadersResponse{},
		}}}
	case *extprocv3.ProcessingRequest_ResponseBody:
		r.response = append(r.response, m.ResponseBody.GetBody()...)
		answer := &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: &extprocv3.BodyResponse{}}}
		if m.ResponseBody.GetEndOfStream() {
			answer.DynamicMetadata = usage(r.response)
		}
		return []*extprocv3.ProcessingResponse{answer}
	default:
		return nil
	}
}

func headers(change *extprocv3.CommonResponse) *extprocv3.ProcessingResponse {
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestHeaders{
		RequestHeaders: &extprocv3.HeadersResponse{Response: change},
	}}
}

// setModel sets the header to the model of a body, and removes it if the body has none.
func setModel(body []byte) *extprocv3.CommonResponse {
	var prompt struct {
		Model string `json:"model"`
	}
	change := &extprocv3.HeaderMutation{RemoveHeaders: []string{Header}}
	if json.Unmarshal(body, &prompt) == nil && prompt.Model != "" {
		change = &extprocv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{
			Header:       &corev3.HeaderValue{Key: Header, RawValue: []byte(prompt.Model)},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}}}
	}
	return &extprocv3.CommonResponse{HeaderMutation: change}
}

// chunk is the most that one message has of a body.
const chunk = 64 << 10

// streamed returns a body in messages.
func streamed(body []byte) []*extprocv3.ProcessingResponse {
	var messages []*extprocv3.ProcessingResponse
	for last := false; !last; {
		n := min(chunk, len(body))
		last = n == len(body)
		messages = append(messages, &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{
			RequestBody: &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
				Mutation: &extprocv3.BodyMutation_StreamedResponse{
					StreamedResponse: &extprocv3.StreamedBodyResponse{Body: body[:n], EndOfStream: last},
				},
			}}},
		}})
		body = body[n:]
	}
	return messages
}

// usage reads the tokens of a response.
func usage(body []byte) *structpb.Struct {
	var response struct {
		Usage struct {
			TotalTokens int `json:"total_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(body, &response) != nil || response.Usage.TotalTokens == 0 {
		return nil
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{Namespace: structpb.NewStructValue(&structpb.Struct{
		Fields: map[string]*structpb.Value{Key: structpb.NewNumberValue(float64(response.Usage.TotalTokens))},
	})}}
}
