package route

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// session keeps a client on the endpoint that answered it. When the endpoint is gone, another takes over: the session is not strict. The
// settings are those of a route, or of a backend that the weights of a route choose.
func session(settings map[string]*anypb.Any, s *ir.Session) map[string]*anypb.Any {
	if s == nil {
		return settings
	}
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
	return configured(settings, filter.Session, &statefulsessionv3.StatefulSessionPerRoute{
		Override: &statefulsessionv3.StatefulSessionPerRoute_StatefulSession{StatefulSession: &statefulsessionv3.StatefulSession{SessionState: state}},
	})
}

// configure gives a filter its settings for one route.
func configure(r *routev3.Route, name string, config proto.Message) {
	r.TypedPerFilterConfig = configured(r.TypedPerFilterConfig, name, config)
}

// configured adds the settings of one filter to those of others.
func configured(settings map[string]*anypb.Any, name string, config proto.Message) map[string]*anypb.Any {
	if settings == nil {
		settings = map[string]*anypb.Any{}
	}
	settings[name] = wire.Any(config)
	return settings
}
