package xds

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errReplaced ends the oldest stream of a proxy that has too many.
var errReplaced = status.Errorf(codes.ResourceExhausted,
	"this proxy has opened more than %d streams; this was the oldest", maxStreamsOfProxy)

// places limits the streams of each proxy. The newest ones stay: a proxy whose connections broke must be able to connect again.
type places struct {
	mu sync.Mutex
	by map[Identity][]*place
}

type place struct{ end context.CancelCauseFunc }

// take gives a stream a place. The returned function frees it.
func (p *places) take(proxy Identity, end context.CancelCauseFunc) func() {
	own := &place{end: end}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[Identity][]*place{}
	}
	p.by[proxy] = append(p.by[proxy], own)
	if streams := p.by[proxy]; len(streams) > maxStreamsOfProxy {
		streams[0].end(errReplaced)
		p.by[proxy] = slices.Delete(streams, 0, 1)
	}
	return func() { p.leave(proxy, own) }
}

func (p *places) leave(proxy Identity, own *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by[proxy] = slices.DeleteFunc(p.by[proxy], func(other *place) bool { return other == own })
	if len(p.by[proxy]) == 0 {
		delete(p.by, proxy)
	}
}
