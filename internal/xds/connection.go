package xds

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// closeDelay lets the answer leave first, on a busy machine too.
const closeDelay = 500 * time.Millisecond

// connections accepts connections, and limits those of each address without an admitted stream. Others are limited by the streams of
// their proxies.
type connections struct {
	net.Listener
	mu sync.Mutex
	// unauthenticated counts the connections without an admitted stream by address.
	unauthenticated map[string]int
}

func newConnections(listener net.Listener) *connections {
	return &connections{Listener: listener, unauthenticated: map[string]int{}}
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

// sourceOf returns the address without the port.
func sourceOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}

// count changes the number of unauthenticated connections of an address, and reports whether it is within the limit.
func (c *connections) count(address string, change int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unauthenticated[address] += change
	count := c.unauthenticated[address]
	if count == 0 {
		delete(c.unauthenticated, address)
	}
	return count <= maxUnauthenticated
}

// connection is one that was accepted.
type connection struct {
	net.Conn
	among   *connections
	address string
	// done is closed with the connection.
	done chan struct{}

	mu sync.Mutex
	// streams is the number of its admitted streams.
	streams int
	closed  bool
	// unread is the number of bytes that ended streams may have left unread.
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

// began records an admitted stream.
func (c *connection) began() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams++; c.streams == 1 && !c.closed {
		c.among.count(c.address, -1)
	}
}

// over records the end of a stream, with the number of bytes it may have left unread and whether it was rejected. It reports whether
// the connection must be closed: gRPC keeps unread bytes for as long as the connection lives, and a proxy may not keep a connection for
// rejected streams.
func (c *connection) over(unread int, rejected bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread += unread
	end := c.unread > maxUnread
	if c.streams--; c.streams == 0 && !c.closed {
		end = !c.among.count(c.address, 1) || rejected || end
	}
	return end
}

// closableCreds is TLS that gives calls access to their connection.
type closableCreds struct {
	credentials.TransportCredentials
}

// ServerHandshake implements [credentials.TransportCredentials].
func (h closableCreds) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := h.TransportCredentials.ServerHandshake(raw)
	if tls, ok := info.(credentials.TLSInfo); err == nil && ok {
		accepted, _ := raw.(*connection)
		info = connInfo{TLSInfo: tls, secured: secured, accepted: accepted}
	}
	return secured, info, err //nolint:wrapcheck // it is the inner one's
}

// Clone implements [credentials.TransportCredentials].
func (h closableCreds) Clone() credentials.TransportCredentials {
	return closableCreds{h.TransportCredentials.Clone()}
}

type connInfo struct {
	credentials.TLSInfo
	secured  net.Conn
	accepted *connection
}

func connInfoOf(ctx context.Context) (connInfo, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return connInfo{}, false
	}
	l, ok := p.AuthInfo.(connInfo)
	return l, ok
}

// closeConnection closes the connection of a call that cannot be served here and now. A proxy retries on its connection for as long as
// there is one. It finds another replica only with a new one.
func closeConnection(ctx context.Context) {
	if l, ok := connInfoOf(ctx); ok {
		time.AfterFunc(closeDelay, func() { _ = l.secured.Close() })
	}
}

// delay delays the answer to a call while its connection is open. It does not end with the call: gRPC runs no more handlers than a
// connection may have streams, so a caller that cancels its call and makes another one still waits.
func delay(ctx context.Context, duration time.Duration) {
	l, ok := connInfoOf(ctx)
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
