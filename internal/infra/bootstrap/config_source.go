package bootstrap

import (
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/ir"
)

// configSource is where a proxy gets its configuration, and the cluster that it needs for that, if any.
func configSource(gateway ir.Gateway, server ControlPlane) (*bootstrapv3.Bootstrap_DynamicResources, []*clusterv3.Cluster, error) {
	if gateway.Fleet.Delivery == ir.Files {
		return &bootstrapv3.Bootstrap_DynamicResources{
			LdsConfig: layout.ConfigSource(layout.Directory, layout.Listeners),
			CdsConfig: layout.ConfigSource(layout.Directory, layout.Clusters),
		}, nil, nil
	}
	cluster, err := controlPlaneCluster(server)
	if err != nil {
		return nil, nil, err
	}
	dynamic := &bootstrapv3.Bootstrap_DynamicResources{AdsConfig: adsConfig(), LdsConfig: fromADS(), CdsConfig: fromADS()}
	return dynamic, []*clusterv3.Cluster{cluster}, nil
}

// adsConfig subscribes to all types on one delta stream. Envoy reopens it within two seconds of the control plane's return; its default
// may wait for thirty.
func adsConfig() *corev3.ApiConfigSource {
	return &corev3.ApiConfigSource{
		ApiType:                   corev3.ApiConfigSource_DELTA_GRPC,
		TransportApiVersion:       corev3.ApiVersion_V3,
		SetNodeOnFirstMessageOnly: true,
		GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
				ClusterName: xdsCluster,
				RetryPolicy: &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
					BaseInterval: durationpb.New(200 * time.Millisecond),
					MaxInterval:  durationpb.New(2 * time.Second),
				}},
			},
		}}},
	}
}

func fromADS() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		InitialFetchTimeout:   durationpb.New(0),
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}
