package simulation

import (
	"context"
	"errors"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

type (
	request  = discoveryv3.DeltaDiscoveryRequest
	resource = discoveryv3.Resource
	response = discoveryv3.DeltaDiscoveryResponse
)

var errCut = errors.New("the stream is cut")

// link is a delta ADS stream on which nothing arrives before the scheduler says so. It is the server's end; a client uses its methods, or
// the other end that client returns.
type link struct {
	grpc.ServerStream
	ctx    context.Context
	cancel context.CancelFunc
	// end is the replica that serves it.
	end *replica
	// arrivedRequests and arrivedResponses are delivered and not yet read.
	arrivedRequests  chan *request
	arrivedResponses chan *response

	mu        sync.Mutex
	requests  []*request
	responses []*response
}

func newLink(end *replica) *link {
	l := &link{end: end, arrivedRequests: make(chan *request, 64), arrivedResponses: make(chan *response, 64)}
	l.ctx, l.cancel = context.WithCancel(end.ctx)
	return l
}

// Context implements [grpc.ServerStream].
func (l *link) Context() context.Context { return l.ctx }

// Send puts a response on its way.
func (l *link) Send(r *response) error {
	if l.ctx.Err() != nil {
		return errCut
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.responses = append(l.responses, r)
	return nil
}

// Recv waits for a request to arrive.
func (l *link) Recv() (*request, error) {
	select {
	case r := <-l.arrivedRequests:
		return r, nil
	case <-l.ctx.Done():
		return nil, errCut
	}
}

// ask puts a request on its way.
func (l *link) ask(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r)
}

func (l *link) waiting() (requests, responses int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.requests), len(l.responses)
}

// deliverRequest has the oldest request arrive.
func (l *link) deliverRequest() {
	l.mu.Lock()
	r := l.requests[0]
	l.requests = l.requests[1:]
	l.mu.Unlock()
	l.arrivedRequests <- r
}

// takeResponse takes the oldest response off the way.
func (l *link) takeResponse() *response {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.responses[0]
	l.responses = l.responses[1:]
	return r
}

// client is the other end of a link.
type client struct{ *link }

// Send puts a request on its way.
func (c client) Send(r *request) error {
	if c.ctx.Err() != nil {
		return errCut
	}
	c.ask(r)
	return nil
}

// Recv waits for a response to arrive.
func (c client) Recv() (*response, error) {
	select {
	case r := <-c.arrivedResponses:
		return r, nil
	case <-c.ctx.Done():
		return nil, errCut
	}
}
