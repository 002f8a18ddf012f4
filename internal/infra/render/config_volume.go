package render

import (
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

// TokenAudience is the audience of the tokens that proxies, and replicas of the control plane, present to the xDS servers.
const TokenAudience = "gatewright.dev/xds" //nolint:gosec // a name, not a credential

// tokenSeconds is the lifetime of a token. A kubelet replaces it in the last fifth of its life.
const tokenSeconds = 3600

// configVolume is the volume that a proxy gets its configuration with: a token for the control plane, or the files themselves.
func configVolume(gateway ir.Gateway) *applycorev1.VolumeApplyConfiguration {
	if gateway.Fleet.Delivery == ir.Files {
		return filesVolume(gateway)
	}
	return tokenVolume()
}

func configMount(gateway ir.Gateway) *applycorev1.VolumeMountApplyConfiguration {
	if gateway.Fleet.Delivery == ir.Files {
		return applycorev1.VolumeMount().WithName("files").WithMountPath(layout.Directory).WithReadOnly(true)
	}
	return applycorev1.VolumeMount().WithName("token").WithMountPath(bootstrap.TokenDirectory).WithReadOnly(true)
}

// tokenVolume holds a token of the fleet's ServiceAccount. It is bound to the pod; the kubelet renews it.
func tokenVolume() *applycorev1.VolumeApplyConfiguration {
	return applycorev1.Volume().WithName("token").WithProjected(applycorev1.ProjectedVolumeSource().
		WithDefaultMode(0o440).
		WithSources(applycorev1.VolumeProjection().WithServiceAccountToken(applycorev1.ServiceAccountTokenProjection().
			WithAudience(TokenAudience).
			WithExpirationSeconds(tokenSeconds).
			WithPath(bootstrap.TokenFile))))
}

// filesVolume has the same sources whatever files exist, so that no change rolls a pod. A pod starts only when the required ones exist.
func filesVolume(gateway ir.Gateway) *applycorev1.VolumeApplyConfiguration {
	sources := applycorev1.ProjectedVolumeSource().WithDefaultMode(0o440)
	for _, object := range layout.Required(gateway.Fleet.Name) {
		sources.WithSources(projection(object, false))
	}
	for _, object := range layout.Optional(gateway.Fleet.Name) {
		sources.WithSources(projection(object, true))
	}
	return applycorev1.Volume().WithName("files").WithProjected(sources)
}

func projection(object layout.Object, optional bool) *applycorev1.VolumeProjectionApplyConfiguration {
	if object.Secret {
		return applycorev1.VolumeProjection().WithSecret(applycorev1.SecretProjection().WithName(object.Name).WithOptional(optional))
	}
	return applycorev1.VolumeProjection().WithConfigMap(applycorev1.ConfigMapProjection().WithName(object.Name).WithOptional(optional))
}

// FilesLabel is on the objects that hold files of a fleet, with [LabelValue] of its name.
const FilesLabel = "gatewright.dev/files-of"

// FilesMetadata returns the labels and owners that the objects with files share with the fleet's other objects.
func FilesMetadata(gateway ir.Gateway) (map[string]string, []*applymetav1.OwnerReferenceApplyConfiguration) {
	all := labels(gateway)
	all[FilesLabel] = LabelValue(gateway.Fleet.Name)
	return all, owners(gateway)
}
