package xds

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// hangUpAfter is long enough for the answer to leave first, on a busy machine too.
const hangUpAfter = 500 * time.Millisecond

// connections accepts connections, and limits those from each address that have no admitted stream. Others are limited by the streams of
// their proxies.
type connections struct {
	net.Listener
	mu sync.Mutex
	// strangers counts the connections without an admitted stream by address.
	strangers map[string]int
}

func newConnections(listener net.Listener) *connections {
	return &connections{Listener: listener, strangers: map[string]int{}}
}

// Accept implements [net.Listener].
func (c *connections) Accept() (net.Conn, error) {
	for {
		raw, err := c.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // gRPC looks at what kind it is
		}
		accepted := &connection{Conn: raw, among: c, address: sourceOf(raw.RemoteAddr()), done: make(chan struct{})}
		if c.count(accepted.address, 1) {
			return accepted, nil
		}
		_ = raw.Close()
		c.count(accepted.address, -1)
	}
}

// sourceOf is the address without the port.
func sourceOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}

// count changes how many strangers come from an address, and says whether these are not too many.
func (c *connections) count(address string, change int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strangers[address] += change
	count := c.strangers[address]
	if count == 0 {
		delete(c.strangers, address)
	}
	return count <= maxStrangers
}

// connection is one that was accepted.
type connection struct {
	net.Conn
	among   *connections
	address string
	// done is closed with the connection.
	done chan struct{}

	mu sync.Mutex
	// streams is how many admitted streams it has.
	streams int
	closed  bool
	// unread is how many bytes streams that are over may have left that the other side has not read.
	unread int
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.streams == 0 {
		c.among.count(c.address, -1)
	}
	if !c.closed {
		close(c.done)
	}
	c.closed = true
	return c.Conn.Close() //nolint:wrapcheck // it is the inner one's
}

// began says that a stream was admitted.
func (c *connection) began() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams++; c.streams == 1 && !c.closed {
		c.among.count(c.address, -1)
	}
}

// over says that a stream has ended, how many bytes it may have left that the other side has not read, and whether it was refused. It says
// whether the connection must end: gRPC keeps unread bytes for as long as there is a connection, and a proxy that is refused a stream may
// not keep a connection for it.
func (c *connection) over(unread int, refused bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread += unread
	end := c.unread > maxUnread
	if c.streams--; c.streams == 0 && !c.closed {
		end = !c.among.count(c.address, 1) || refused || end
	}
	return end
}

// hangingUp is TLS whose connections are known to the calls that come on them.
type hangingUp struct {
	credentials.TransportCredentials
}

// ServerHandshake implements [credentials.TransportCredentials].
func (h hangingUp) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := h.TransportCredentials.ServerHandshake(raw)
	if tls, ok := info.(credentials.TLSInfo); err == nil && ok {
		accepted, _ := raw.(*connection)
		info = line{TLSInfo: tls, secured: secured, accepted: accepted}
	}
	return secured, info, err //nolint:wrapcheck // it is the inner one's
}

// Clone implements [credentials.TransportCredentials].
func (h hangingUp) Clone() credentials.TransportCredentials {
	return hangingUp{h.TransportCredentials.Clone()}
}

type line struct {
	credentials.TLSInfo
	secured  net.Conn
	accepted *connection
}

func lineOf(ctx context.Context) (line, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return line{}, false
	}
	l, ok := p.AuthInfo.(line)
	return l, ok
}

// hangUp ends the connection of a call that can not be served here and now. A proxy tries again on the connection it has for as long as
// there is one, and only with another does it find another replica.
func hangUp(ctx context.Context) {
	if l, ok := lineOf(ctx); ok {
		time.AfterFunc(hangUpAfter, func() { _ = l.secured.Close() })
	}
}

// delay holds back the answer to a call while its connection is open. It does not end with the call: gRPC runs no more handlers than a
// connection may have streams, so a caller that gives up its call and makes another has to wait all the same.
func delay(ctx context.Context, duration time.Duration) {
	l, ok := lineOf(ctx)
	if !ok || l.accepted == nil {
		return
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.accepted.done:
	}
}
