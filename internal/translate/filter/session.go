package filter

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// Session keeps a client on an endpoint, and does nothing for a route without a session.
const Session = "envoy.filters.http.stateful_session"

var session = Filter{
	Name: Session, OnDemand: true,
	Listener: everywhere(&statefulsessionv3.StatefulSession{}),
	Backend: func(backend *ir.WeightedBackend) (proto.Message, bool) {
		if backend.Session == nil {
			return nil, false
		}
		return &statefulsessionv3.StatefulSessionPerRoute{
			Override: &statefulsessionv3.StatefulSessionPerRoute_StatefulSession{StatefulSession: statefulSession(backend.Session)},
		}, true
	},
}

// statefulSession keeps a client on the endpoint that answered it. When the endpoint is gone, another takes over: the session is not
// strict.
func statefulSession(s *ir.Session) *statefulsessionv3.StatefulSession {
	state := &corev3.TypedExtensionConfig{Name: "envoy.http.stateful_session.cookie"}
	if s.Header != "" {
		state.Name = "envoy.http.stateful_session.header"
		state.TypedConfig = wire.Any(&headerv3.HeaderBasedSessionState{Name: s.Header})
	} else {
		cookie := &httpv3.Cookie{Name: s.Cookie, Path: s.Path}
		if s.Lifetime > 0 {
			cookie.Ttl = durationpb.New(s.Lifetime)
		}
		state.TypedConfig = wire.Any(&cookiev3.CookieBasedSessionState{Cookie: cookie})
	}
	return &statefulsessionv3.StatefulSession{SessionState: state}
}
