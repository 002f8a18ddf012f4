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

// Options are what a cluster depends on beside the identity of its backend.
type Options struct {
	// Policy has the settings of the connections, nil for the defaults.
	Policy *ir.DestinationPolicy
	// Hostname is the DNS name of a backend outside the cluster; empty for one with endpoints.
	Hostname string
	// Fixed are the endpoints that a Backend lists; none for any other.
	Fixed []ir.FixedEndpoint
	// DeniedAddresses are those that a name must not resolve to, beside those that are always denied.
	DeniedAddresses []netip.Prefix
	// Families are those of the cluster's pods, and so of the proxies.
	Families ir.Families
	// Picker chooses the endpoints, nil for load balancing.
	Picker *ir.EndpointPicker
}

// Cluster is the way to one backend. It depends on nothing else, so that it is nearly as stable as its name.
func Cluster(b ir.Backend, o Options) *clusterv3.Cluster {
	policy := o.Policy
	if policy == nil {
		policy = &ir.DestinationPolicy{}
	}
	if b.Kind == ir.KindFailover {
		return failover(b, policy.Settings)
	}
	c := base(b)
	setRetryBudget(c, policy.RetryBudget)
	if b.Protocol != ir.BackendUDP && !hasSocket(o.Fixed) {
		setTCPTimeouts(c, tcpTimeoutsFor(b.Protocol, o.Hostname != "" || len(o.Fixed) > 0))
		c.OutlierDetection = defaultOutlierDetection()
	}
	if o.Hostname != "" {
		c.ConnectTimeout = durationpb.New(farConnectTimeout)
		external(c, o.Hostname, b.Port, o.Families.First(), policy.Settings)
	}
	setHTTPOptions(c, b.Protocol, o, policy.Settings)
	if len(o.Fixed) > 0 {
		c.ConnectTimeout = durationpb.New(farConnectTimeout)
		fixed(c, o.Fixed, o.Families.First(), policy.Settings)
	}
	switch {
	case policy.TLS == nil && b.Kind == ir.KindBackend && len(o.Fixed) == 0:
		failClosed(c)
	case policy.TLS == nil:
	case policy.TLS.FailClosed:
		failClosed(c)
	default:
		c.ConnectTimeout = durationpb.New(farConnectTimeout)
		c.TransportSocket = upstreamTLS(b.Protocol, policy.TLS)
		nameOfRequest(c, b.Protocol, policy.TLS)
	}
	applySettings(c, b, o, policy)
	if o.Picker != nil {
		c.LoadBalancingPolicy = picked(o.Picker, policy.Settings)
	}
	return c
}

// setHTTPOptions says how HTTP is spoken to a backend that speaks it.
func setHTTPOptions(c *clusterv3.Cluster, protocol ir.BackendProtocol, o Options, s *ir.DestinationSettings) {
	if !isHTTP(protocol) {
		return
	}
	options := httpOptions(protocol)
	if o.Hostname != "" || len(o.Fixed) > 0 && o.Fixed[0].Name != "" {
		denyAddresses(options, o.DeniedAddresses)
	}
	applyHTTPSettings(options, s)
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{wire.HTTPProtocolOptions: wire.Any(options)}
}

// failClosed removes every endpoint, whatever Kubernetes says of them: requests are answered 503 and no byte leaves the proxy.
func failClosed(c *clusterv3.Cluster) {
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	c.EdsClusterConfig = nil
	c.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: c.GetName()}
}

func base(b ir.Backend) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 b.String(),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			EdsConfig:   wire.ADS(),
			ServiceName: b.Endpoints().String(),
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
}
