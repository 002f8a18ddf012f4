package cluster

import (
	"net/netip"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	// connectTimeout is for endpoints inside the cluster that are spoken to in plain text: one lost packet is sent again after a second.
	connectTimeout = 2 * time.Second
	// farConnectTimeout is for what takes longer: a name outside the cluster, and a handshake with TLS, which Envoy counts too.
	farConnectTimeout = 5 * time.Second
	// bufferLimit is what Envoy's guide for edge proxies asks for: a slow reader must not fill the proxy's memory.
	bufferLimit = 32 * 1024
)

// Way is what is to be known of the connections to a backend beside its name.
type Way struct {
	// TLS is nil for plain text.
	TLS *ir.BackendTLS
	// Budget limits retries, nil for the default.
	Budget *ir.RetryBudget
	// Hostname is where a backend outside the cluster is; empty for one with endpoints.
	Hostname string
	// DeniedAddresses are where Hostname may not lead, beside those that are always denied.
	DeniedAddresses []netip.Prefix
	// Families are those of the cluster's pods, and so of the proxies.
	Families ir.Families
}

// Cluster is the way to one backend. It depends on nothing else, so that it is nearly as stable as its name.
func Cluster(b ir.Backend, way Way) *clusterv3.Cluster {
	c := plain(b)
	limitRetries(c, way.Budget)
	if b.Protocol != ir.BackendUDP {
		noticeSilence(c, patienceWith(b.Protocol, way.Hostname != ""))
	}
	if way.Hostname != "" {
		c.ConnectTimeout = durationpb.New(farConnectTimeout)
		external(c, way.Hostname, b.Port, way.Families.First())
		denyAddresses(c, b.Protocol, way.DeniedAddresses)
	}
	switch {
	case way.TLS == nil:
	case way.TLS.Refused:
		deadEnd(c)
	default:
		c.ConnectTimeout = durationpb.New(farConnectTimeout)
		c.TransportSocket = upstreamTLS(b.Protocol, way.TLS)
	}
	return c
}

// deadEnd takes away every endpoint, whatever Kubernetes says of them: requests are answered 503 and no byte leaves the proxy.
func deadEnd(c *clusterv3.Cluster) {
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	c.EdsClusterConfig = nil
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: c.GetName()}
}

func plain(b ir.Backend) *clusterv3.Cluster {
	c := &clusterv3.Cluster{
		Name:                 b.Name(),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			EdsConfig:   wire.ADS(),
			ServiceName: b.EndpointsName(),
		},
		ConnectTimeout:                durationpb.New(connectTimeout),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
		LbPolicy:                      clusterv3.Cluster_LEAST_REQUEST,
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
			// Endpoints that must not get requests are left out beforehand. If all that are left have been ejected, they are asked all the same.
			HealthyPanicThreshold: &typev3.Percent{Value: 1},
		},
		CircuitBreakers: limits(b.Protocol),
		// Kubernetes says when an endpoint is gone; a proxy that has its own opinion would keep sending to it.
		IgnoreHealthOnHostRemoval: true,
	}
	if _, http := alpn[b.Protocol]; http {
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptionsName: wire.Any(httpOptions(b.Protocol))}
	}
	return c
}
