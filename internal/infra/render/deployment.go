package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

// user is the one that distroless images call nonroot.
const user = 65532

// pod keeps to the restricted Pod Security Standard. The sysctl is one of its safe ones and lets an unprivileged Envoy bind a
// listener's own port.
func pod(gateway ir.Gateway, settings Settings) (*applycorev1.PodSpecApplyConfiguration, error) {
	name := gateway.Fleet.Name
	envoy, err := container(gateway, settings)
	if err != nil {
		return nil, err
	}
	envoy.WithVolumeMounts(configMount(gateway))
	spec := applycorev1.PodSpec().
		WithServiceAccountName(name).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(podSecurity(gateway).
			WithRunAsNonRoot(true).
			WithSeccompProfile(applycorev1.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)).
			WithSysctls(applycorev1.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))).
		WithVolumes(
			applycorev1.Volume().WithName("config").WithConfigMap(applycorev1.ConfigMapVolumeSource().WithName(name)),
			configVolume(gateway),
			applycorev1.Volume().WithName("admin").WithEmptyDir(applycorev1.EmptyDirVolumeSource().
				WithMedium(corev1.StorageMediumMemory).
				WithSizeLimit(resource.MustParse("1Mi"))),
		)
	if err := withDrain(spec, envoy, gateway, settings); err != nil {
		return nil, err
	}
	return spec.WithContainers(envoy), place(spec, gateway)
}

// podSecurity has who the pod runs as, unless the cluster assigns that.
func podSecurity(gateway ir.Gateway) *applycorev1.PodSecurityContextApplyConfiguration {
	security := applycorev1.PodSecurityContext()
	if gateway.Fleet.Proxies.Pod.AssignedUser {
		return security
	}
	return security.WithRunAsUser(user).WithRunAsGroup(user).WithFSGroup(user)
}

// container is the proxy itself.
func container(gateway ir.Gateway, settings Settings) (*applycorev1.ContainerApplyConfiguration, error) {
	requirements, err := resources(resourcesOf(gateway))
	if err != nil {
		return nil, err
	}
	threads, err := concurrency(gateway)
	if err != nil {
		return nil, err
	}
	return applycorev1.Container().
		WithName("envoy").
		WithImage(cmp.Or(gateway.Fleet.Proxies.Pod.Image, settings.image())).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs(
			"--config-path", bootstrap.ConfigDirectory+"/"+bootstrap.ConfigFile,
			"--service-node", "$(POD_NAME)",
			"--log-level", "warn",
			// It warns of each copy of a request that goes out of the cluster: the addresses of those are not checked.
			"--component-log-level", "rbac:error",
			"--disable-hot-restart",
		).
		WithArgs(drainArguments(gateway)...).
		WithArgs(threads...).
		WithEnv(applycorev1.EnvVar().WithName("POD_NAME").WithValueFrom(applycorev1.EnvVarSource().
			WithFieldRef(applycorev1.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.name")))).
		WithPorts(applycorev1.ContainerPort().WithName("ready").WithContainerPort(bootstrap.ReadyPort).WithProtocol(corev1.ProtocolTCP)).
		WithPorts(hostPorts(gateway)...).
		WithResources(requirements).
		WithStartupProbe(probe(bootstrap.ReadyPath).WithPeriodSeconds(1).WithTimeoutSeconds(1).WithFailureThreshold(aDay)).
		WithReadinessProbe(probe(bootstrap.ReadyPath).WithPeriodSeconds(2).WithTimeoutSeconds(2).WithFailureThreshold(3)).
		WithLivenessProbe(probe(bootstrap.ReadyPath).WithPeriodSeconds(10).WithTimeoutSeconds(5).WithFailureThreshold(6)).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			applycorev1.VolumeMount().WithName("config").WithMountPath(bootstrap.ConfigDirectory).WithReadOnly(true),
			applycorev1.VolumeMount().WithName("admin").WithMountPath(bootstrap.AdminDirectory),
		), nil
}

// aDay in seconds is how long a proxy may wait for its control plane. Envoy opens its listeners only when it has its configuration, so
// until then nothing answers, and a proxy that waits must not be killed for it.
const aDay = 24 * 60 * 60

// probe asks the listener that is there for it. A proxy that drains says that it is not ready, but then the kubelet asks only for that.
func probe(path string) *applycorev1.ProbeApplyConfiguration {
	return applycorev1.Probe().WithHTTPGet(applycorev1.HTTPGetAction().
		WithPath(path).
		WithPort(intstr.FromInt32(bootstrap.ReadyPort)).
		WithScheme(corev1.URISchemeHTTP))
}

func restricted() *applycorev1.SecurityContextApplyConfiguration {
	return applycorev1.SecurityContext().
		WithRunAsNonRoot(true).
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(applycorev1.Capabilities().WithDrop("ALL"))
}
