package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	proxyprotocolv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/proxy_protocol/v3"
	rawbufferv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// applySettings replaces defaults of a cluster by the settings of policies. It is called last: it wraps the transport socket.
func applySettings(c *clusterv3.Cluster, b ir.Backend, o Options, p *ir.DestinationPolicy) {
	s := p.Settings
	if s == nil {
		return
	}
	if s.ConnectTimeout != nil {
		c.ConnectTimeout = durationpb.New(*s.ConnectTimeout)
	}
	if s.BufferLimit > 0 {
		c.PerConnectionBufferLimitBytes = wrapperspb.UInt32(s.BufferLimit)
	}
	if s.PanicThreshold != nil {
		c.CommonLbConfig.HealthyPanicThreshold = &typev3.Percent{Value: float64(*s.PanicThreshold)}
	}
	if s.LoadBalancer != nil {
		c.LoadBalancingPolicy = loadBalancing(s.LoadBalancer)
	}
	circuitBreaker(c, s.CircuitBreaker, p.RetryBudget != nil)
	if b.Protocol == ir.BackendUDP {
		return
	}
	c.HealthChecks = healthChecks(b, o.Hostname, s.Active)
	if s.Passive != nil {
		c.OutlierDetection = outlierDetection(s.Passive)
	}
	if !hasSocket(o.Fixed) {
		keepalive(c, s.Keepalive)
		socketBuffer(c, s.SocketBuffer)
	}
	if p := s.Preconnect; p != nil {
		c.PreconnectPolicy = &clusterv3.Cluster_PreconnectPolicy{
			PerUpstreamPreconnectRatio: factor(p.PerEndpoint), PredictivePreconnectRatio: factor(p.Predictive),
		}
	}
	if s.ProxyProtocol > 0 {
		c.TransportSocket = withProxyProtocol(c.GetTransportSocket(), s.ProxyProtocol)
	}
}

func factor(f float64) *wrapperspb.DoubleValue {
	if f == 0 {
		return nil
	}
	return wrapperspb.Double(f)
}

// keepalive replaces how connections without traffic are probed. How long data may stay unacknowledged does not change.
func keepalive(c *clusterv3.Cluster, k *ir.TCPKeepalive) {
	if k == nil {
		return
	}
	own := &corev3.TcpKeepalive{}
	if k.Probes > 0 {
		own.KeepaliveProbes = wrapperspb.UInt32(k.Probes)
	}
	if k.Idle > 0 {
		own.KeepaliveTime = wrapperspb.UInt32(uint32(k.Idle.Seconds()))
	}
	if k.Interval > 0 {
		own.KeepaliveInterval = wrapperspb.UInt32(uint32(k.Interval.Seconds()))
	}
	c.UpstreamConnectionOptions = &clusterv3.UpstreamConnectionOptions{TcpKeepalive: own}
}

// Socket options of Linux for the buffers of a connection, and their level.
const solSocket, soSndBuf, soRcvBuf = 1, 7, 8

func socketBuffer(c *clusterv3.Cluster, size uint32) {
	if size == 0 {
		return
	}
	if c.UpstreamBindConfig == nil {
		c.UpstreamBindConfig = &corev3.BindConfig{}
	}
	for _, option := range []int64{soRcvBuf, soSndBuf} {
		c.UpstreamBindConfig.SocketOptions = append(c.UpstreamBindConfig.SocketOptions, &corev3.SocketOption{
			Level: solSocket, Name: option,
			Value: &corev3.SocketOption_IntValue{IntValue: int64(size)}, State: corev3.SocketOption_STATE_PREBIND,
		})
	}
}

// withProxyProtocol sends the address of the client before anything else, also before TLS.
func withProxyProtocol(inner *corev3.TransportSocket, version uint32) *corev3.TransportSocket {
	if inner == nil {
		inner = &corev3.TransportSocket{
			Name:       "envoy.transport_sockets.raw_buffer",
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wire.Any(&rawbufferv3.RawBuffer{})},
		}
	}
	config := &corev3.ProxyProtocolConfig{Version: corev3.ProxyProtocolConfig_V1}
	if version > 1 {
		config.Version = corev3.ProxyProtocolConfig_V2
	}
	return &corev3.TransportSocket{
		Name: "envoy.transport_sockets.upstream_proxy_protocol",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wire.Any(
			&proxyprotocolv3.ProxyProtocolUpstreamTransport{Config: config, TransportSocket: inner},
		)},
	}
}

// circuitBreaker replaces the limits for what clients send. fixed says that the standard's own policy decides about retries.
func circuitBreaker(c *clusterv3.Cluster, b *ir.CircuitBreaker, fixed bool) {
	if b == nil {
		return
	}
	thresholds := c.GetCircuitBreakers().GetThresholds()
	clients := thresholds[len(thresholds)-1]
	for _, l := range []struct {
		limit *uint32
		to    **wrapperspb.UInt32Value
	}{
		{b.Connections, &clients.MaxConnections},
		{b.Pending, &clients.MaxPendingRequests},
		{b.Requests, &clients.MaxRequests},
		{b.Retries, &clients.MaxRetries},
	} {
		if l.limit != nil {
			*l.to = wrapperspb.UInt32(*l.limit)
		}
	}
	if b.PerEndpoint != nil {
		c.CircuitBreakers.PerHostThresholds = []*clusterv3.CircuitBreakers_Thresholds{{
			Priority: clients.GetPriority(), MaxConnections: wrapperspb.UInt32(*b.PerEndpoint),
		}}
	}
	switch {
	case fixed:
	case b.RetryBudget != nil:
		clients.RetryBudget = &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent: &typev3.Percent{Value: b.RetryBudget.Percent}, MinRetryConcurrency: wrapperspb.UInt32(b.RetryBudget.Minimum),
		}
	case b.Retries != nil:
		// Envoy ignores the number where there is a budget.
		clients.RetryBudget = nil
	}
}
