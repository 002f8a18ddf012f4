package client

import (
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/values"
	"github.com/gatewright/gatewright/internal/store"
)

// converter reads settings. It collects what cannot be served.
type converter struct {
	// hostname is that of the listener, empty where it is not known.
	hostname string
	values.Reader
}

func newConverter(objects *store.Objects) *converter {
	return &converter{Reader: values.NewReader(objects)}
}

// socket reads the settings that all listeners of a port share.
func (c *converter) socket(s *Spec) ir.SocketPolicy {
	var p ir.SocketPolicy
	if k := s.TCPKeepalive; k != nil {
		p.Keepalive = &ir.TCPKeepalive{
			Probes: values.Unsigned(k.Probes), Idle: c.Seconds("tcpKeepalive.idleTime", k.IdleTime),
			Interval: c.Seconds("tcpKeepalive.interval", k.Interval),
		}
	}
	if s.ProxyProtocol != nil {
		p.Proxy = &ir.ProxyProtocol{Optional: isTrue(s.ProxyProtocol.Optional)}
	}
	if conn := s.Connection; conn != nil {
		p.BufferLimit = c.Bytes("connection.bufferLimit", conn.BufferLimit, 1<<10, 1<<31-1)
		p.SocketBufferLimit = c.Bytes("connection.socketBufferLimit", conn.SocketBufferLimit, 1<<10, 1<<30)
		if conn.MaxAcceptPerSocketEvent != nil {
			p.MaxAccept = new(values.Unsigned(conn.MaxAcceptPerSocketEvent))
		}
	}
	if s.Timeout != nil && s.Timeout.TCP != nil {
		p.InspectionTimeout = c.Duration("timeout.tcp.connectionInspectionTimeout", s.Timeout.TCP.ConnectionInspectionTimeout)
	}
	if s.TLS != nil {
		p.JA3 = slices.Contains(s.TLS.Fingerprints, v1alpha1.FingerprintJA3)
		p.JA4 = slices.Contains(s.TLS.Fingerprints, v1alpha1.FingerprintJA4)
	}
	return p
}

// chain reads the settings of one listener, apart from client validation.
func (c *converter) chain(s *Spec) ir.ClientPolicy {
	p := ir.ClientPolicy{
		Address: c.address(s.ClientIPDetection), Headers: c.headers(s.Headers), Timeouts: c.timeouts(s.Timeout),
		HTTP1: c.http1(s.HTTP1), HTTP2: c.http2(s.HTTP2),
		SchemeOfBackend: is(s.Scheme, v1alpha1.SchemeMatchBackend),
	}
	if s.TLS != nil {
		p.TLS = c.tls(s.TLS)
	}
	if s.Path != nil {
		p.Path = ir.ClientPath{EscapedSlashes: text(s.Path.EscapedSlashesAction), KeepSlashes: isTrue(s.Path.DisableMergeSlashes)}
	}
	if s.Connection != nil && s.Connection.ConnectionLimit != nil {
		p.Limits = c.limits(s.Connection.ConnectionLimit)
	}
	if s.GRPC != nil {
		p.GRPCWeb = isTrue(s.GRPC.EnableWeb)
	}
	if s.HealthCheck != nil {
		p.HealthCheckPath = s.HealthCheck.Path
	}
	return p
}

func (c *converter) address(d *v1alpha1.ClientIPDetection) ir.ClientAddress {
	switch {
	case d == nil:
		return ir.ClientAddress{}
	case d.XForwardedFor != nil:
		a := ir.ClientAddress{
			TrustedHops: values.Unsigned(d.XForwardedFor.NumTrustedHops), KeepForwardedFor: isTrue(d.XForwardedFor.DisableXForwardedForAppend),
		}
		for _, cidr := range d.XForwardedFor.TrustedCIDRs {
			// A range that cannot be read is left out, so that nothing is trusted for it.
			if text, ok := c.CIDR("clientIPDetection.xForwardedFor.trustedCIDRs", string(cidr)); ok {
				a.TrustedCIDRs = append(a.TrustedCIDRs, text)
			}
		}
		return a
	case d.CustomHeader != nil:
		name := strings.ToLower(string(d.CustomHeader.Name))
		if !c.Accept(header.CheckName("clientIPDetection.customHeader.name", name)) {
			return ir.ClientAddress{}
		}
		if strings.HasPrefix(name, ir.ForwardedHeaderPrefix) || strings.HasPrefix(name, ir.EnvoyHeaderPrefix) || name == ir.ForwardedHeader {
			c.Fail("clientIPDetection.customHeader.name %s is removed from requests of clients; use clientIPDetection.xForwardedFor, "+
				"or another header", name)
			return ir.ClientAddress{}
		}
		return ir.ClientAddress{Header: name, RejectMissing: isTrue(d.CustomHeader.FailClosed)}
	default:
		return ir.ClientAddress{}
	}
}

func (c *converter) timeouts(t *v1alpha1.ClientTimeout) ir.ClientTimeouts {
	var p ir.ClientTimeouts
	if t == nil {
		return p
	}
	if t.TCP != nil {
		p.StreamConnectionIdle = c.Duration("timeout.tcp.idleTimeout", t.TCP.IdleTimeout)
		p.Handshake = c.Duration("timeout.tcp.tlsHandshakeTimeout", t.TCP.TLSHandshakeTimeout)
	}
	if t.HTTP != nil {
		p.Request = c.Duration("timeout.http.requestReceivedTimeout", t.HTTP.RequestReceivedTimeout)
		p.RequestHeaders = c.Duration("timeout.http.requestHeadersReceivedTimeout", t.HTTP.RequestHeadersReceivedTimeout)
		p.Idle = c.Duration("timeout.http.idleTimeout", t.HTTP.IdleTimeout)
		p.StreamIdle = c.Duration("timeout.http.streamIdleTimeout", t.HTTP.StreamIdleTimeout)
	}
	return p
}

func (c *converter) limits(l *v1alpha1.ConnectionLimit) ir.ClientLimits {
	p := ir.ClientLimits{
		ConnectionDuration:    c.Duration("connection.connectionLimit.maxConnectionDuration", l.MaxConnectionDuration),
		RequestsPerConnection: values.Unsigned(l.MaxRequestsPerConnection),
		StreamDuration:        value(c.Duration("connection.connectionLimit.maxStreamDuration", l.MaxStreamDuration)),
		CloseDelay:            value(c.Duration("connection.connectionLimit.closeDelay", l.CloseDelay)),
	}
	if l.Value != nil {
		p.Connections = *l.Value
	}
	return p
}

func (c *converter) http1(h *v1alpha1.ClientHTTP1) ir.ClientHTTP1 {
	if h == nil {
		return ir.ClientHTTP1{}
	}
	p := ir.ClientHTTP1{
		Trailers: isTrue(h.EnableTrailers), PreserveCase: isTrue(h.PreserveHeaderCase),
		UnsafeMaxDuration: isTrue(h.DisableSafeMaxConnectionDuration),
		IgnoredUpgrades:   c.Matches("http1.ignoredUpgradeTypes", h.IgnoredUpgradeTypes),
	}
	if h.HTTP10 != nil && isTrue(h.HTTP10.UseDefaultHost) {
		p.DefaultHost = c.hostname
	}
	return p
}

func (c *converter) http2(h *v1alpha1.HTTP2Settings) ir.ClientHTTP2 {
	if h == nil {
		return ir.ClientHTTP2{}
	}
	const smallest, largest = 1<<16 - 1, 1<<31 - 1
	p := ir.ClientHTTP2{
		StreamWindow:     c.Bytes("http2.initialStreamWindowSize", h.InitialStreamWindowSize, smallest, largest),
		ConnectionWindow: c.Bytes("http2.initialConnectionWindowSize", h.InitialConnectionWindowSize, smallest, largest),
		CloseOnInvalid:   is(h.OnInvalidMessage, v1alpha1.TerminateConnection),
	}
	if h.MaxConcurrentStreams != nil {
		p.MaxStreams = uint32(*h.MaxConcurrentStreams) //nolint:gosec // the API server allows no more than fits
	}
	if k := h.ConnectionKeepalive; k != nil {
		p.Keepalive = &ir.HTTP2Keepalive{
			Interval: value(c.Duration("http2.connectionKeepalive.interval", k.Interval)),
			Timeout:  value(c.Duration("http2.connectionKeepalive.timeout", k.Timeout)),
			Idle:     value(c.Duration("http2.connectionKeepalive.idleInterval", k.IdleInterval)),
			Jitter:   k.IntervalJitter,
		}
		for _, d := range []time.Duration{p.Keepalive.Interval, p.Keepalive.Timeout, p.Keepalive.Idle} {
			if d != 0 && d < time.Millisecond {
				c.Fail("http2.connectionKeepalive has a time that is shorter than 1ms; use a longer one")
				p.Keepalive = nil
				break
			}
		}
	}
	return p
}

func value[T any](p *T) T { return values.Or(p) }

func isTrue(b *bool) bool { return values.IsTrue(b) }

func is[T comparable](p *T, wanted T) bool { return values.Is(p, wanted) }

func text[T ~string](p *T) string { return string(value(p)) }
