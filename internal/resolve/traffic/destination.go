package traffic

import (
	"math"
	"strings"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

// destinations reads the settings of connections to backends.
func (c *converter) destinations(s *Spec) ir.DestinationSettings {
	p := ir.DestinationSettings{
		LoadBalancer: c.loadBalancer(s.LoadBalancer), CircuitBreaker: c.circuitBreaker(s.CircuitBreaker), HTTP2: c.http2(s.HTTP2),
		DNS: c.dns(s.DNS), ClientProtocol: s.UseClientProtocol,
	}
	if s.Timeout != nil && s.Timeout.TCP != nil {
		// Envoy takes no cluster with a timeout of zero.
		p.ConnectTimeout = c.AtLeast("timeout.tcp.connectTimeout", s.Timeout.TCP.ConnectTimeout, time.Millisecond)
	}
	if s.Timeout != nil && s.Timeout.HTTP != nil {
		t := s.Timeout.HTTP
		p.IdleTimeout = c.Duration("timeout.http.connectionIdleTimeout", t.ConnectionIdleTimeout)
		p.MaxDuration = c.Duration("timeout.http.maxConnectionDuration", t.MaxConnectionDuration)
	}
	if h := s.HealthCheck; h != nil {
		p.Active, p.Passive = c.active(h.Active), c.passive(h.Passive)
		if h.PanicThreshold != nil {
			p.PanicThreshold = new(min(values.Unsigned(h.PanicThreshold), percent))
		}
	}
	if conn := s.Connection; conn != nil {
		p.BufferLimit = c.Bytes("connection.bufferLimit", conn.BufferLimit, 1<<10, 1<<31-1)
		p.SocketBuffer = c.Bytes("connection.socketBufferLimit", conn.SocketBufferLimit, 1<<10, 1<<30)
		if conn.Preconnect != nil {
			p.Preconnect = &ir.Preconnect{
				PerEndpoint: ratio(conn.Preconnect.PerEndpointPercent), Predictive: ratio(conn.Preconnect.PredictivePercent),
			}
		}
	}
	if k := s.TCPKeepalive; k != nil {
		p.Keepalive = &ir.TCPKeepalive{
			Probes: values.Unsigned(k.Probes), Idle: c.Seconds("tcpKeepalive.idleTime", k.IdleTime),
			Interval: c.Seconds("tcpKeepalive.interval", k.Interval),
		}
	}
	if s.ProxyProtocol != nil {
		p.ProxyProtocol = 1
		if s.ProxyProtocol.Version == v1alpha1.ProxyProtocolV2 {
			p.ProxyProtocol = 2
		}
	}
	return p
}

const percent = 100

// ratio is a percentage as a factor within what Envoy takes, 0 for none.
func ratio(p *int32) float64 {
	if p == nil {
		return 0
	}
	const largest = 3
	return min(max(float64(*p)/percent, 1), largest)
}

func (c *converter) circuitBreaker(b *v1alpha1.CircuitBreaker) *ir.CircuitBreaker {
	if b == nil {
		return nil
	}
	p := &ir.CircuitBreaker{
		Connections: limit(b.MaxConnections), Pending: limit(b.MaxPendingRequests), Requests: limit(b.MaxParallelRequests),
		Retries: limit(b.MaxParallelRetries), PerConnection: values.Or(limit(b.MaxRequestsPerConnection)),
	}
	if b.PerEndpoint != nil {
		p.PerEndpoint = limit(b.PerEndpoint.MaxConnections)
	}
	if budget := b.RetryBudget; budget != nil {
		of := int32(percent)
		if budget.Percent.Denominator != nil {
			of = max(1, *budget.Percent.Denominator)
		}
		const usual = 3
		share := &ir.RetryShare{Percent: float64(budget.Percent.Numerator) * percent / float64(of), Minimum: usual}
		if share.Percent < 0 || share.Percent > percent {
			c.Fail("circuitBreaker.retryBudget.percent is %d of %d, not from 0%% to 100%%", budget.Percent.Numerator, of)
			share.Percent = min(max(share.Percent, 0), percent)
		}
		if budget.MinRetryConcurrency != nil {
			share.Minimum = values.Unsigned(budget.MinRetryConcurrency)
		}
		p.RetryBudget = share
	}
	return p
}

func limit(n *int64) *uint32 {
	if n == nil {
		return nil
	}
	return new(uint32(min(max(*n, 0), math.MaxUint32)))
}

func (c *converter) http2(h *v1alpha1.HTTP2Settings) *ir.HTTP2Settings {
	if h == nil {
		return nil
	}
	const smallest, largest = 1<<16 - 1, 1<<31 - 1
	p := &ir.HTTP2Settings{
		StreamWindow:     c.Bytes("http2.initialStreamWindowSize", h.InitialStreamWindowSize, smallest, largest),
		ConnectionWindow: c.Bytes("http2.initialConnectionWindowSize", h.InitialConnectionWindowSize, smallest, largest),
		CloseOnInvalid:   values.Is(h.OnInvalidMessage, v1alpha1.TerminateConnection),
	}
	if h.MaxConcurrentStreams != nil {
		p.MaxStreams = uint32(min(max(*h.MaxConcurrentStreams, 1), math.MaxInt32))
	}
	if k := h.ConnectionKeepalive; k != nil {
		const shortest = time.Millisecond
		p.Keepalive = &ir.HTTP2Keepalive{
			Interval: values.Or(c.AtLeast("http2.connectionKeepalive.interval", k.Interval, shortest)),
			Timeout:  values.Or(c.AtLeast("http2.connectionKeepalive.timeout", k.Timeout, shortest)),
			Idle:     values.Or(c.AtLeast("http2.connectionKeepalive.idleInterval", k.IdleInterval, shortest)),
			Jitter:   k.IntervalJitter,
		}
	}
	return p
}

func (c *converter) dns(d *v1alpha1.BackendDNS) *ir.DNS {
	if d == nil {
		return nil
	}
	return &ir.DNS{
		Refresh:   values.Or(c.AtLeast("dns.dnsRefreshRate", d.DNSRefreshRate, time.Second)),
		IgnoreTTL: d.RespectDNSTTL != nil && !*d.RespectDNSTTL, Family: string(values.Or(d.LookupFamily)),
	}
}

// lower is the name of a header as proxies compare it.
func lower[T ~string](name T) string { return strings.ToLower(string(name)) }
