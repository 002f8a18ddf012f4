package main

import (
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/handlers"
)

// picker is lwepp v1.6.0 with the answers that Envoy takes. By itself it answers to a body before it answers to the headers, and without
// the body, which Envoy rejects in the mode FULL_DUPLEX_STREAMED that the endpoint picker protocol demands. Its later versions answer
// in order and return bodies (kubernetes-sigs/gateway-api-inference-extension, issue 3035).
type picker struct {
	extprocv3.UnimplementedExternalProcessorServer

	inner *handlers.StreamingServer
}

// Process implements [extprocv3.ExternalProcessorServer].
func (p picker) Process(stream extprocv3.ExternalProcessor_ProcessServer) error {
	return p.inner.Process(&ordered{ExternalProcessor_ProcessServer: stream})
}

// ordered is the stream of one request. One goroutine uses it.
type ordered struct {
	extprocv3.ExternalProcessor_ProcessServer

	// request are the parts of a request's body that are not returned yet, and answered how many of them were answered.
	request  []*extprocv3.HttpBody
	answered int
	// waiting says that the headers of the request are not answered yet.
	waiting  bool
	response *extprocv3.HttpBody
}

// Recv remembers bodies.
func (o *ordered) Recv() (*extprocv3.ProcessingRequest, error) {
	message, err := o.ExternalProcessor_ProcessServer.Recv()
	switch m := message.GetRequest().(type) {
	case *extprocv3.ProcessingRequest_RequestHeaders:
		o.waiting = true
	case *extprocv3.ProcessingRequest_RequestBody:
		o.request = append(o.request, m.RequestBody)
	case *extprocv3.ProcessingRequest_ResponseBody:
		o.response = m.ResponseBody
	}
	return message, err
}

// Send returns bodies, and holds those of requests until the headers are answered.
func (o *ordered) Send(message *extprocv3.ProcessingResponse) error {
	switch message.GetResponse().(type) {
	case *extprocv3.ProcessingResponse_RequestHeaders:
		o.waiting = false
		if err := o.ExternalProcessor_ProcessServer.Send(message); err != nil {
			return err
		}
		return o.flush()
	case *extprocv3.ProcessingResponse_RequestBody:
		o.answered++
		return o.flush()
	case *extprocv3.ProcessingResponse_ResponseBody:
		return o.ExternalProcessor_ProcessServer.Send(&extprocv3.ProcessingResponse{
			Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: returned(o.response)},
		})
	default:
		return o.ExternalProcessor_ProcessServer.Send(message)
	}
}

func (o *ordered) flush() error {
	for ; !o.waiting && o.answered > 0; o.answered-- {
		body := o.request[0]
		o.request = o.request[1:]
		if err := o.ExternalProcessor_ProcessServer.Send(&extprocv3.ProcessingResponse{
			Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: returned(body)},
		}); err != nil {
			return err
		}
	}
	return nil
}

// returned is a body as it came.
func returned(body *extprocv3.HttpBody) *extprocv3.BodyResponse {
	return &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
		Mutation: &extprocv3.BodyMutation_StreamedResponse{StreamedResponse: &extprocv3.StreamedBodyResponse{
			Body: body.GetBody(), EndOfStream: body.GetEndOfStream(),
		}},
	}}}
}
