package xds

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// errExpired ends a stream before its token expires. The proxy connects again with the current token.
var errExpired = status.Error(codes.Unauthenticated, "the token that opened this stream is at its end; connect again with the current one")

type proofKey struct{}

// proofOf returns what is known of the caller of an admitted call.
func proofOf(ctx context.Context) Proof {
	proof, _ := ctx.Value(proofKey{}).(Proof)
	return proof
}

// identityOf returns the identity of the caller of an admitted call.
func identityOf(ctx context.Context) Identity { return proofOf(ctx).Identity }

// admitStream and admitCall intercept every call, so none is open by oversight. A stream ends before the token that opened it expires.
func (s *Server) admitStream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	ctx, cancel, err := s.admit(stream.Context())
	if err != nil {
		return err
	}
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer s.contain(identityOf(ctx), func() { err = errPanicked })
	defer s.places.take(identityOf(ctx), end)()
	own := &admitted{ServerStream: stream, ctx: ctx, Server: s}
	leave := own.occupy()
	defer func() { leave(err) }()
	defer own.watch()()
	err = handle(service, own)
	for _, ended := range []error{errExpired, errReplaced} {
		if errors.Is(context.Cause(ctx), ended) {
			return ended
		}
	}
	return err
}

func (s *Server) admitCall(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	ctx, cancel, err := s.admit(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer s.contain(identityOf(ctx), func() { err = errPanicked })
	return handle(ctx, request)
}

func (s *Server) admit(ctx context.Context) (_ context.Context, _ context.CancelFunc, err error) {
	defer s.contain(Identity{}, func() { err = errPanicked })
	proof, err := s.authenticate(ctx)
	if err != nil {
		if status.Code(err) == codes.Unavailable {
			closeConnection(ctx)
		}
		if status.Code(err) == codes.Unauthenticated {
			delay(ctx, rejectionDelay)
		}
		return nil, nil, s.reject(err)
	}
	ctx, cancel := context.WithDeadlineCause(context.WithValue(ctx, proofKey{}, proof), s.end(proof.Expires), errExpired)
	return ctx, cancel, nil
}

func (s *Server) authenticate(ctx context.Context) (Proof, error) {
	token, err := bearerToken(ctx)
	if err != nil {
		return Proof{}, err
	}
	return s.authenticator.Authenticate(ctx, token) //nolint:wrapcheck // it is a status, which the caller is shown
}

func (s *Server) reject(err error) error {
	s.metrics.authRejections.WithLabelValues(status.Code(err).String()).Inc()
	s.logger.Debug("caller rejected", "error", err)
	return err
}

// end returns when a stream that is opened now has to end: at a random time in the last fifth of the token's life, when there is a new
// token already. So proxies that started together do not reconnect together.
func (s *Server) end(expires time.Time) time.Time {
	left := time.Until(expires)
	return expires.Add(-time.Duration(s.random() * float64(left) / 5))
}

// admitted is a stream with an identity. It does not wait forever for a client that does not read.
type admitted struct {
	grpc.ServerStream
	ctx context.Context
	*Server
	// unread is the approximate number of bytes that the client may not have read.
	unread int
}

// Context implements [grpc.ServerStream].
func (a *admitted) Context() context.Context { return a.ctx }

// RecvMsg implements [grpc.ServerStream]. Its goroutine has no other recovery from panics.
func (a *admitted) RecvMsg(message any) (err error) {
	defer a.contain(identityOf(a.ctx), func() { err = errPanicked })
	return a.ServerStream.RecvMsg(message) //nolint:wrapcheck // it is the inner one's
}

// SendMsg implements [grpc.ServerStream]. It ends the connection when it takes too long.
func (a *admitted) SendMsg(message any) error {
	// gRPC accepts the next message when the client has read all but this much of the last one.
	const ahead = 64 << 10
	if m, ok := message.(proto.Message); ok {
		a.unread = ahead + proto.Size(m)
	}
	defer time.AfterFunc(a.sendTimeout, func() { a.giveUp("it does not read what it is sent") }).Stop()
	return a.ServerStream.SendMsg(message) //nolint:wrapcheck // it is the inner one's
}

func (a *admitted) giveUp(reason string) {
	identity := identityOf(a.ctx)
	a.logger.Info("the connection of a proxy is closed", "group", identity.Group.String(), "pod", identity.Pod, "reason", reason)
	closeConnection(a.ctx)
}

// occupy counts the stream on its connection. The returned function ends that; its argument is how the stream ended.
func (a *admitted) occupy() func(error) {
	l, ok := connInfoOf(a.ctx)
	if !ok || l.accepted == nil {
		return func(error) {}
	}
	l.accepted.began()
	return func(err error) {
		rejected := err != nil && !errors.Is(err, errExpired)
		if l.accepted.over(a.unread, rejected) {
			closeConnection(a.ctx)
		}
	}
}

// watch closes the connection if the stream is over and its handler does not return. The returned function ends the watch.
func (a *admitted) watch() func() {
	returned := make(chan struct{})
	stop := context.AfterFunc(a.ctx, func() {
		select {
		case <-returned:
		case <-time.After(endTimeout):
			a.giveUp("its stream is over, and it does not read what it was sent")
		}
	})
	return func() {
		close(returned)
		stop()
	}
}
