package xds

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// hangUpAfter is long enough for the answer to leave first.
const hangUpAfter = 100 * time.Millisecond

// hangingUp is TLS whose connections can be ended by a call that came on them.
type hangingUp struct {
	credentials.TransportCredentials
}

// ServerHandshake implements [credentials.TransportCredentials].
func (h hangingUp) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := h.TransportCredentials.ServerHandshake(raw)
	if tls, ok := info.(credentials.TLSInfo); err == nil && ok {
		info = line{TLSInfo: tls, connection: secured}
	}
	return secured, info, err //nolint:wrapcheck // it is the inner one's
}

// Clone implements [credentials.TransportCredentials].
func (h hangingUp) Clone() credentials.TransportCredentials {
	return hangingUp{h.TransportCredentials.Clone()}
}

type line struct {
	credentials.TLSInfo
	connection net.Conn
}

// hangUp ends the connection of a call that can not be served here and now. A proxy tries again on the connection it has for as long as
// there is one, and only with another does it find another replica.
func hangUp(ctx context.Context) {
	if p, ok := peer.FromContext(ctx); ok {
		if l, ok := p.AuthInfo.(line); ok {
			time.AfterFunc(hangUpAfter, func() { _ = l.connection.Close() })
		}
	}
}
