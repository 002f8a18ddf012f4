package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	proxyprotocolv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	connectionlimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/connection_limit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// listen says how the connections of a port are accepted.
func listen(l *listenerv3.Listener, port ir.Port, policy *ir.SocketPolicy) {
	if policy.Proxy != nil {
		// It comes first: what the others read is behind its header.
		l.ListenerFilters = append(l.ListenerFilters, listenerFilter("envoy.filters.listener.proxy_protocol", &proxyprotocolv3.ProxyProtocol{
			AllowRequestsWithoutProxyProtocol: policy.Proxy.Optional,
		}))
	}
	if port.Protocol.ChoosesByName() {
		inspector := &tlsinspectorv3.TlsInspector{}
		if policy.JA3 {
			inspector.EnableJa3Fingerprinting = wrapperspb.Bool(true)
		}
		if policy.JA4 {
			inspector.EnableJa4Fingerprinting = wrapperspb.Bool(true)
		}
		l.ListenerFilters = append(l.ListenerFilters, listenerFilter("envoy.filters.listener.tls_inspector", inspector))
	}
	if policy.InspectionTimeout != nil {
		l.ListenerFiltersTimeout = durationpb.New(*policy.InspectionTimeout)
	}
	if policy.BufferLimit > 0 {
		l.PerConnectionBufferLimitBytes = wrapperspb.UInt32(policy.BufferLimit)
	}
	if policy.MaxAccept != nil && *policy.MaxAccept > 0 {
		l.MaxConnectionsToAcceptPerSocketEvent = wrapperspb.UInt32(*policy.MaxAccept)
	}
	l.SocketOptions = socketOptions(policy)
}

func listenerFilter(name string, config proto.Message) *listenerv3.ListenerFilter {
	return &listenerv3.ListenerFilter{Name: name, ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: wire.Any(config)}}
}

// What Linux calls its socket options, see socket(7) and tcp(7).
const (
	solSocket, soSndBuf, soRcvBuf, soKeepalive        = 1, 7, 8, 9
	ipprotoTCP, tcpKeepIdle, tcpKeepIntvl, tcpKeepCnt = 6, 4, 5, 6
)

// socketOptions are those of the listening socket, which connections inherit.
func socketOptions(policy *ir.SocketPolicy) []*corev3.SocketOption {
	var options []*corev3.SocketOption
	set := func(description string, level, name, value int64) {
		options = append(options, &corev3.SocketOption{
			Description: description, Level: level, Name: name, Value: &corev3.SocketOption_IntValue{IntValue: value},
			State: corev3.SocketOption_STATE_PREBIND,
		})
	}
	if k := policy.Keepalive; k != nil {
		set("keepalive", solSocket, soKeepalive, 1)
		if k.Probes > 0 {
			set("keepalive probes", ipprotoTCP, tcpKeepCnt, int64(k.Probes))
		}
		if k.Idle > 0 {
			set("keepalive idle time", ipprotoTCP, tcpKeepIdle, int64(k.Idle.Seconds()))
		}
		if k.Interval > 0 {
			set("keepalive interval", ipprotoTCP, tcpKeepIntvl, int64(k.Interval.Seconds()))
		}
	}
	if policy.SocketBufferLimit > 0 {
		set("receive buffer", solSocket, soRcvBuf, int64(policy.SocketBufferLimit))
		set("send buffer", solSocket, soSndBuf, int64(policy.SocketBufferLimit))
	}
	return options
}

// connectionLimit closes the connections of a chain that are too many.
func connectionLimit(port ir.Port, limits *ir.ClientLimits) []*listenerv3.Filter {
	if limits.Connections == 0 {
		return nil
	}
	config := &connectionlimitv3.ConnectionLimit{
		StatPrefix: statPrefix(port), MaxConnections: wrapperspb.UInt64(uint64(limits.Connections)), //nolint:gosec // it is positive
	}
	if limits.CloseDelay > 0 {
		config.Delay = durationpb.New(limits.CloseDelay)
	}
	return []*listenerv3.Filter{{
		Name:       "envoy.filters.network.connection_limit",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(config)},
	}}
}
