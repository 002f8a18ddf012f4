package xds

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errExpired ends a stream whose proof has ended. A proxy connects again with the token that has taken its place.
var errExpired = status.Error(codes.Unauthenticated, "the token that opened this stream has expired; connect again with the current one")

type identityKey struct{}

// identityOf is who makes a call that was admitted.
func identityOf(ctx context.Context) Identity {
	identity, _ := ctx.Value(identityKey{}).(Identity)
	return identity
}

// admitStream and admitCall stand before everything that is registered, so nothing is open by oversight. A stream ends with the proof that opened it.
func (s *Server) admitStream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx, cancel, err := s.admit(stream.Context())
	if err != nil {
		return err
	}
	defer cancel()
	err = handle(service, &admitted{ServerStream: stream, ctx: ctx})
	if errors.Is(context.Cause(ctx), errExpired) {
		return errExpired
	}
	return err
}

func (s *Server) admitCall(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, cancel, err := s.admit(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return handle(ctx, request)
}

func (s *Server) admit(ctx context.Context) (context.Context, context.CancelFunc, error) {
	token, err := bearerToken(ctx)
	if err != nil {
		return nil, nil, s.turnAway(err)
	}
	proof, err := s.authenticator.Authenticate(ctx, token)
	if err != nil {
		if status.Code(err) == codes.Unavailable {
			hangUp(ctx)
		}
		return nil, nil, s.turnAway(err)
	}
	ctx, cancel := context.WithDeadlineCause(context.WithValue(ctx, identityKey{}, proof.Identity), proof.Expires, errExpired)
	return ctx, cancel, nil
}

func (s *Server) turnAway(err error) error {
	s.metrics.turnedAway.WithLabelValues(status.Code(err).String()).Inc()
	s.logger.Debug("caller turned away", "error", err)
	return err
}

// admitted is a stream that knows whose it is.
type admitted struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements [grpc.ServerStream].
func (a *admitted) Context() context.Context { return a.ctx }
