package endpoints

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// OfServiceImport is [OfService] for a ServiceImport.
func OfServiceImport(i *mcsv1beta1.ServiceImport) []ir.Endpoints {
	return OfService(store.ImportedService(i))
}

// chooseOfClusters is [choose] for slices of several clusters, which may differ in their IP families. What is ready in any cluster comes
// before what terminates in another. Of the others, those in this cluster come first; without an id of this cluster all are alike.
func chooseOfClusters(
	all []*discoveryv1.EndpointSlice, wantedPort slicePortName, families []corev1.IPFamily, clusterID string,
) []target {
	byCluster := map[string][]*discoveryv1.EndpointSlice{}
	for _, slice := range all {
		cluster := slice.Labels[mcsv1beta1.LabelSourceCluster]
		byCluster[cluster] = append(byCluster[cluster], slice)
	}
	var ready, leaving []target
	for cluster, own := range byCluster {
		up, last := chooseFamily(own, wantedPort, families)
		elsewhere := clusterID != "" && cluster != clusterID
		ready = append(ready, placed(up, elsewhere)...)
		leaving = append(leaving, placed(last, elsewhere)...)
	}
	if len(ready) > 0 {
		return distinct(ready)
	}
	return distinct(leaving)
}

func placed(targets []target, elsewhere bool) []target {
	for i := range targets {
		targets[i].elsewhere = elsewhere
	}
	return targets
}
