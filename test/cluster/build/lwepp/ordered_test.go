package main

import (
	"context"
	"io"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/datastore"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/handlers"
)

// onePod is a pool with one pod.
type onePod struct{}

func (onePod) PoolGet() (*datastore.EndpointPool, error) { return &datastore.EndpointPool{}, nil }

func (onePod) PodList(func(*datastore.Endpoint) bool) []*datastore.Endpoint {
	return []*datastore.Endpoint{{Address: "192.0.2.1", Port: "8000"}}
}

// conversation has the messages of a proxy, and takes the answers.
type conversation struct {
	grpc.ServerStream

	messages []*extprocv3.ProcessingRequest
	answers  []*extprocv3.ProcessingResponse
}

func (c *conversation) Context() context.Context { return context.Background() }

func (c *conversation) Recv() (*extprocv3.ProcessingRequest, error) {
	if len(c.messages) == 0 {
		return nil, io.EOF
	}
	first := c.messages[0]
	c.messages = c.messages[1:]
	return first, nil
}

func (c *conversation) Send(answer *extprocv3.ProcessingResponse) error {
	c.answers = append(c.answers, answer)
	return nil
}

// TestOrder: headers are answered first, and bodies come back as they were.
func TestOrder(t *testing.T) {
	t.Parallel()
	body := func(text string, last bool) *extprocv3.HttpBody {
		return &extprocv3.HttpBody{Body: []byte(text), EndOfStream: last}
	}
	c := &conversation{messages: []*extprocv3.ProcessingRequest{
		{Request: &extprocv3.ProcessingRequest_RequestHeaders{RequestHeaders: &extprocv3.HttpHeaders{Headers: &corev3.HeaderMap{}}}},
		{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: body("ab", false)}},
		{Request: &extprocv3.ProcessingRequest_RequestBody{RequestBody: body("c", true)}},
		{Request: &extprocv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: &extprocv3.HttpHeaders{}}},
		{Request: &extprocv3.ProcessingRequest_ResponseBody{ResponseBody: body("d", false)}},
		{Request: &extprocv3.ProcessingRequest_ResponseBody{ResponseBody: body("", true)}},
	}}
	if err := (picker{inner: handlers.NewStreamingServer(onePod{})}).Process(c); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, answer := range c.answers {
		switch a := answer.GetResponse().(type) {
		case *extprocv3.ProcessingResponse_RequestHeaders:
			got = append(got, "headers "+string(a.RequestHeaders.GetResponse().GetHeaderMutation().GetSetHeaders()[0].GetHeader().GetRawValue()))
		case *extprocv3.ProcessingResponse_RequestBody:
			got = append(got, "request "+text(a.RequestBody))
		case *extprocv3.ProcessingResponse_ResponseHeaders:
			got = append(got, "response headers")
		case *extprocv3.ProcessingResponse_ResponseBody:
			got = append(got, "response "+text(a.ResponseBody))
		}
	}
	want := "headers 192.0.2.1:8000, request ab, request c., response headers, response d, response ."
	if all := strings.Join(got, ", "); all != want {
		t.Errorf("got  %s\nwant %s", all, want)
	}
}

// text is a body that is returned, with a dot behind the last part.
func text(b *extprocv3.BodyResponse) string {
	part := b.GetResponse().GetBodyMutation().GetStreamedResponse()
	if part.GetEndOfStream() {
		return string(part.GetBody()) + "."
	}
	return string(part.GetBody())
}
