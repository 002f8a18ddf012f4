package render

import (
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

// drainTimes are how long a proxy takes to end. It is told when its pod is, goes on serving, sends its connections away, and is stopped
// when none is left.
type drainTimes struct {
	// quiet is for how long no new connection may come before all clients are taken to know that the pod ends.
	quiet time.Duration
	// spread is over which time Envoy tells connections to go, so that their clients do not all come back at once. Connections of a listener
	// that changed have as long to finish.
	spread time.Duration
	// timeout is when a proxy ends although connections are open. It leaves time to those that were told last.
	timeout time.Duration
}

const (
	defaultDelay   = 5 * time.Second
	defaultTimeout = 90 * time.Second
	// grace is what the kubelet needs on top to run the hook, and Envoy to stop.
	grace = 15 * time.Second
)

func drainOf(gateway ir.Gateway) drainTimes {
	delay, timeout := defaultDelay, defaultTimeout
	if said := gateway.Fleet.Proxies.Drain.Delay; said != nil {
		delay = *said
	}
	if said := gateway.Fleet.Proxies.Drain.Timeout; said != nil {
		timeout = *said
	}
	return drainTimes{quiet: delay, spread: max(timeout*2/3, time.Second).Truncate(time.Second), timeout: delay + timeout}
}

const (
	// Databases are in it too, see [ir.GeoDirectory].
	helperDirectory = "/run/gatewright"
	helperProgram   = helperDirectory + "/gatewright"
)

// installer brings Gatewright's program into the pod, databases, and the file that Envoy wants to find. It runs before Envoy and asks for
// the same, so it adds nothing to what the pod asks for, and has limits where a namespace demands them. What it writes when it fails is in
// the status of the pod.
func installer(
	gateway ir.Gateway, settings Settings, requirements *applycorev1.ResourceRequirementsApplyConfiguration,
) *applycorev1.ContainerApplyConfiguration {
	return applycorev1.Container().
		WithName("install-drain").
		WithImage(settings.Helper).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs("install", helperProgram, "--pressure", bootstrap.PressureFile).
		WithArgs(databaseArguments(gateway.Fleet.Proxies.GeoIP)...).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithResources(requirements).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			applycorev1.VolumeMount().WithName("gatewright").WithMountPath(helperDirectory),
			applycorev1.VolumeMount().WithName("admin").WithMountPath(bootstrap.AdminDirectory),
		)
}

// databaseArguments name the databases that are copied from where the operator mounts them. The proxy gets copies, see [ir.GeoDatabases].
func databaseArguments(d ir.GeoDatabases) []string {
	var all []string
	for _, database := range []struct{ name, path string }{
		{"city", d.City}, {"country", d.Country}, {"asn", d.ASN}, {"isp", d.ISP}, {"anonymous-ip", d.AnonymousIP},
	} {
		if database.path != "" {
			all = append(all, "--geoip-"+database.name+"="+database.path)
		}
	}
	return all
}

// helperVolume is where the program and the databases lie. On disk, so that they cost no memory before they are used.
func helperVolume(gateway ir.Gateway) *applycorev1.VolumeApplyConfiguration {
	limit := "256Mi"
	if !gateway.Fleet.Proxies.GeoIP.IsZero() {
		limit = "4Gi"
	}
	return applycorev1.Volume().WithName("gatewright").WithEmptyDir(applycorev1.EmptyDirVolumeSource().WithSizeLimit(
		resource.MustParse(limit),
	))
}

// withDrain has the pod finish before it ends. Envoy's image has nothing but Envoy, which cannot ask itself to drain, and a hook that
// the kubelet calls over the network could be called by others; so Gatewright's program is brought in beside it.
func withDrain(
	pod *applycorev1.PodSpecApplyConfiguration, envoy *applycorev1.ContainerApplyConfiguration, gateway ir.Gateway, settings Settings,
) error {
	times := drainOf(gateway)
	stop := applycorev1.LifecycleHandler()
	envoy.WithLifecycle(applycorev1.Lifecycle().WithPreStop(stop))
	if settings.Helper == "" {
		if !gateway.Fleet.Proxies.GeoIP.IsZero() {
			return errors.New("geoIP of the ProxyConfig needs Gatewright's own image in the pods of proxies; start Gatewright with --image")
		}
		stop.WithSleep(applycorev1.SleepAction().WithSeconds(max(seconds(2*times.quiet), 1)))
		pod.WithTerminationGracePeriodSeconds(seconds(2*times.quiet + grace))
		return nil
	}
	pod.WithTerminationGracePeriodSeconds(seconds(times.timeout + grace))
	pod.WithVolumes(helperVolume(gateway)).WithInitContainers(installer(gateway, settings, envoy.Resources))
	envoy.WithVolumeMounts(applycorev1.VolumeMount().WithName("gatewright").WithMountPath(helperDirectory).WithReadOnly(true))
	stop.WithExec(applycorev1.ExecAction().WithCommand(helperProgram, "drain",
		"--admin", bootstrap.AdminSocket, "--pressure", bootstrap.PressureFile,
		"--quiet", times.quiet.String(), "--spread", times.spread.String(), "--timeout", times.timeout.String(),
		// The output of a hook is lost; this is the log of the container.
		"--log-file", "/proc/1/fd/2",
	))
	return nil
}

// drainArguments are Envoy's part. Hot restart is off, so its time to end a parent does not matter.
func drainArguments(gateway ir.Gateway) []string {
	return []string{"--drain-time-s", fmt.Sprint(seconds(drainOf(gateway).spread))}
}

// seconds are whole ones, and no fewer.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
