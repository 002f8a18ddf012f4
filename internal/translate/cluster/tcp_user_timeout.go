package cluster

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// How a proxy detects an endpoint that no longer answers: a node that lost its power or its network sends nothing, and Kubernetes takes
// 40 s to report it. docs/decisions/0020 has the reasons.
const (
	// userTimeoutHTTP2 is how long data may stay unacknowledged by the other kernel: Linux has sent it three more times by then. One
	// connection carries all requests of a thread.
	userTimeoutHTTP2 = 1500 * time.Millisecond
	// userTimeout is longer, because Linux counts a server that does not read (a window of zero) as one that does not acknowledge. With it a
	// connection without traffic is reset by the first probe that is due after it, if the one before was not answered. So it is longer than
	// keepaliveTime and three times keepaliveInterval: four probes have to be lost.
	userTimeout = 46 * time.Second

	// A connection without traffic is probed, so that an idle stream to a vanished node ends.
	keepaliveTime, keepaliveInterval, keepaliveProbes = 30, 5, 3
	// keepaliveTimeHTTP2 is long, because userTimeoutHTTP2 has passed when the first probe is due: one lost probe is enough to reset a
	// connection. Few probes make that rare.
	keepaliveTimeHTTP2 = 300

	// TCP_USER_TIMEOUT of Linux, in milliseconds, and its level.
	ipprotoTCP, tcpUserTimeout = 6, 18
)

// tcpTimeouts are the timeouts of connections to an endpoint.
type tcpTimeouts struct {
	// user is TCP_USER_TIMEOUT, keepalive the number of seconds without traffic before the first probe.
	user      time.Duration
	keepalive uint32
}

func tcpTimeoutsFor(protocol ir.BackendProtocol, outside bool) tcpTimeouts {
	if protocol.IsHTTP2() && !outside {
		return tcpTimeouts{userTimeoutHTTP2, keepaliveTimeHTTP2}
	}
	return tcpTimeouts{userTimeout, keepaliveTime}
}

// setTCPTimeouts closes connections whose data is not acknowledged in time. HTTP/2 PINGs are not used: gRPC servers end connections that
// get more than two in five minutes without answering a request in between.
func setTCPTimeouts(c *clusterv3.Cluster, t tcpTimeouts) {
	c.UpstreamConnectionOptions = &clusterv3.UpstreamConnectionOptions{TcpKeepalive: &corev3.TcpKeepalive{
		KeepaliveTime:     wrapperspb.UInt32(t.keepalive),
		KeepaliveInterval: wrapperspb.UInt32(keepaliveInterval),
		KeepaliveProbes:   wrapperspb.UInt32(keepaliveProbes),
	}}
	c.UpstreamBindConfig = &corev3.BindConfig{SocketOptions: []*corev3.SocketOption{{
		Description: "TCP_USER_TIMEOUT",
		Level:       ipprotoTCP,
		Name:        tcpUserTimeout,
		Value:       &corev3.SocketOption_IntValue{IntValue: t.user.Milliseconds()},
		State:       corev3.SocketOption_STATE_PREBIND,
	}}}
}
