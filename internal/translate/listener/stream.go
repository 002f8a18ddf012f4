package listener

import (
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	tcpProxyName = "envoy.filters.network.tcp_proxy"
	// connectAttempts lets a connection reach another endpoint when the one chosen has just gone.
	connectAttempts = 3
)

// tcpProxy passes on the bytes of a connection, encrypted or not, to one of the backends. Without any, the connection is closed before
// a byte of it is read.
func tcpProxy(port ir.Port, stream *ir.Stream, idle *time.Duration) *listenerv3.Filter {
	if stream == nil {
		stream = &ir.Stream{}
	}
	proxy := &tcpv3.TcpProxy{
		StatPrefix:         statPrefix(port),
		AccessLog:          streamLogs(port, stream.Route),
		MaxConnectAttempts: wrapperspb.UInt32(connectAttempts),
	}
	if idle != nil {
		proxy.IdleTimeout = durationpb.New(*idle)
	}
	switch backends := shares(stream); len(backends) {
	case 0:
		proxy.ClusterSpecifier = &tcpv3.TcpProxy_Cluster{Cluster: wire.UnresolvedBackend}
	case 1:
		proxy.ClusterSpecifier = &tcpv3.TcpProxy_Cluster{Cluster: clusterName(backends[0])}
	default:
		weighted := &tcpv3.TcpProxy_WeightedCluster{}
		for _, b := range backends {
			weighted.Clusters = append(weighted.Clusters, &tcpv3.TcpProxy_WeightedCluster_ClusterWeight{Name: clusterName(b), Weight: b.Weight})
		}
		proxy.ClusterSpecifier = &tcpv3.TcpProxy_WeightedClusters{WeightedClusters: weighted}
	}
	return &listenerv3.Filter{Name: tcpProxyName, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(proxy)}}
}

// shares are the backends that get any connections at all.
func shares(stream *ir.Stream) []ir.StreamBackend {
	var backends []ir.StreamBackend
	for _, b := range stream.Backends {
		if b.Weight > 0 {
			backends = append(backends, b)
		}
	}
	return backends
}

func clusterName(b ir.StreamBackend) string {
	if b.Backend.IsZero() {
		return wire.UnresolvedBackend
	}
	return b.Backend.String()
}
