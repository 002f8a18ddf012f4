package cluster

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

// How a proxy notices that an endpoint is silent: a node that lost its power or its network sends nothing, and Kubernetes takes 40 s to say
// so. docs/decisions/0020 has the reasons.
const (
	// silenceHTTP2 is how long data may stay unacknowledged by the other kernel: Linux has sent it three more times by then. One connection
	// carries all requests of a thread.
	silenceHTTP2 = 1500 * time.Millisecond
	// silenceOther is longer, because Linux counts a server that does not read (a window of zero) as silent. With it as limit a connection
	// without traffic is reset by the first probe that is due after it, if the one before was not answered. So it is longer than
	// keepaliveTime and three times keepaliveInterval: four probes have to be lost.
	silenceOther = 46 * time.Second

	// A connection without traffic is probed, so that a quiet stream to a vanished node ends.
	keepaliveTime, keepaliveInterval, keepaliveProbes = 30, 5, 3
	// keepaliveTimeHTTP2 is long, because silenceHTTP2 has passed when the first probe is due: one lost probe is enough to reset a connection.
	// Few probes make that rare.
	keepaliveTimeHTTP2 = 300

	// TCP_USER_TIMEOUT of Linux, in milliseconds, and its level.
	ipprotoTCP, tcpUserTimeout = 6, 18

	// An endpoint is ejected after so many failures to connect, timeouts and resets in a row, with no request sent to it in between.
	failuresInARow = 10
	// ejectionTime is how long it stays ejected, times the number of ejections in a row, up to longestEjection.
	ejectionTime, longestEjection = 10 * time.Second, time.Minute
	// ejectionInterval is how often Envoy looks for endpoints whose time is over.
	ejectionInterval = 10 * time.Second
	// mostEjected of the endpoints of a backend may be ejected: one of two, and never the only one.
	mostEjected = 50
)

// patience is how long an endpoint may be silent.
type patience struct {
	// limit is for data that is not acknowledged, keepalive is the number of seconds without traffic before the first probe.
	limit     time.Duration
	keepalive uint32
}

func patienceWith(protocol ir.BackendProtocol, outside bool) patience {
	if protocol == ir.BackendHTTP2 && !outside {
		return patience{silenceHTTP2, keepaliveTimeHTTP2}
	}
	return patience{silenceOther, keepaliveTime}
}

// noticeSilence closes connections whose data is not acknowledged within the limit, and ejects endpoints that cannot be reached. HTTP/2
// PINGs are not used: gRPC servers end connections that get more than two in five minutes without answering a request in between.
func noticeSilence(c *clusterv3.Cluster, p patience) {
	c.UpstreamConnectionOptions = &clusterv3.UpstreamConnectionOptions{TcpKeepalive: &corev3.TcpKeepalive{
		KeepaliveTime:     wrapperspb.UInt32(p.keepalive),
		KeepaliveInterval: wrapperspb.UInt32(keepaliveInterval),
		KeepaliveProbes:   wrapperspb.UInt32(keepaliveProbes),
	}}
	c.UpstreamBindConfig = &corev3.BindConfig{SocketOptions: []*corev3.SocketOption{{
		Description: "TCP_USER_TIMEOUT",
		Level:       ipprotoTCP,
		Name:        tcpUserTimeout,
		Value:       &corev3.SocketOption_IntValue{IntValue: p.limit.Milliseconds()},
		State:       corev3.SocketOption_STATE_PREBIND,
	}}}
	c.OutlierDetection = &clusterv3.OutlierDetection{
		// Only what happens on the way to an endpoint counts. What it answers, 503 included, does not.
		SplitExternalLocalOriginErrors:  true,
		ConsecutiveLocalOriginFailure:   wrapperspb.UInt32(failuresInARow),
		Interval:                        durationpb.New(ejectionInterval),
		BaseEjectionTime:                durationpb.New(ejectionTime),
		MaxEjectionTime:                 durationpb.New(longestEjection),
		MaxEjectionPercent:              wrapperspb.UInt32(mostEjected),
		EnforcingConsecutive_5Xx:        wrapperspb.UInt32(0),
		EnforcingSuccessRate:            wrapperspb.UInt32(0),
		EnforcingLocalOriginSuccessRate: wrapperspb.UInt32(0),
	}
}
