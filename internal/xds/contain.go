package xds

import (
	"runtime/debug"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errPanicked ends a stream for which the server panicked. All locks are released, and the stream is removed from its group, so others
// are served as before.
var errPanicked = status.Error(codes.Internal, "the control plane failed to serve this stream; connect again")

// contain is deferred around the work for one caller. A panic is logged and counted, and ends that work.
func (s *Server) contain(caller Identity, end func()) {
	if p := recover(); p != nil {
		s.panicked(caller, p)
		end()
	}
}

func (s *Server) panicked(caller Identity, p any) {
	s.metrics.panics.Inc()
	s.logger.Error("panic while a stream was served",
		"group", caller.Group.String(), "pod", caller.Pod, "panic", p, "stack", string(debug.Stack()))
}

// contain is deferred where a change of a group works for one of its streams.
func (s *stream) contain() {
	if s.panicked == nil {
		return
	}
	if p := recover(); p != nil {
		s.panicked(p)
	}
}
