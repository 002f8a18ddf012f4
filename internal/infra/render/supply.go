package render

import (
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// supply is where a proxy's configuration comes from, and the cluster it takes to get there, if any.
func supply(gateway ir.Gateway, settings Settings) (*bootstrapv3.Bootstrap_DynamicResources, []*clusterv3.Cluster, error) {
	if gateway.Fleet.Delivery == ir.Files {
		return &bootstrapv3.Bootstrap_DynamicResources{
			LdsConfig: FromFile(FilesDirectory, ListenersFile),
			CdsConfig: FromFile(FilesDirectory, ClustersFile),
		}, nil, nil
	}
	cluster, err := controlPlane(settings)
	if err != nil {
		return nil, nil, err
	}
	return &bootstrapv3.Bootstrap_DynamicResources{AdsConfig: adsConfig(), LdsConfig: fromADS(), CdsConfig: fromADS()}, []*clusterv3.Cluster{cluster}, nil
}

// supplyVolume is what a pod needs for it: a token for the control plane, or the files.
func supplyVolume(gateway ir.Gateway) *applycorev1.VolumeApplyConfiguration {
	if gateway.Fleet.Delivery == ir.Files {
		return filesVolume(gateway)
	}
	return tokenVolume()
}

func supplyMount(gateway ir.Gateway) *applycorev1.VolumeMountApplyConfiguration {
	if gateway.Fleet.Delivery == ir.Files {
		return applycorev1.VolumeMount().WithName("files").WithMountPath(FilesDirectory).WithReadOnly(true)
	}
	return applycorev1.VolumeMount().WithName("token").WithMountPath(tokenDirectory).WithReadOnly(true)
}
