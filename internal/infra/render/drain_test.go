package render

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

func helperSettings() Settings {
	return Settings{SystemNamespace: "gatewright-system", Helper: "example.org/gatewright:1"}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	fleet := render(t, exampleGateway(), helperSettings(), exampleBundle)
	pod := fleet.deployment.Spec.Template.Spec
	envoy, installer := pod.Containers[0], pod.InitContainers[0]
	hook := envoy.Lifecycle.PreStop.Exec.Command
	flag := func(arguments []string, name string) string {
		return arguments[slices.Index(arguments, name)+1]
	}
	seconds := func(arguments []string, name string) time.Duration {
		text := flag(arguments, name)
		if !strings.HasSuffix(text, "s") {
			text += "s"
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	mount := func(c corev1.Container, name string) corev1.VolumeMount {
		i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name })
		return c.VolumeMounts[i]
	}
	security := installer.SecurityContext
	check(t, fleet, []fact{
		{"the program comes from Gatewright's image", installer.Image == "example.org/gatewright:1" && slices.Equal(
			installer.Args[:2], []string{"install", hook[0]},
		)},
		{"what is installed is what the hook runs", strings.HasPrefix(hook[0], mount(installer, "gatewright").MountPath+"/") && mount(
			envoy, "gatewright",
		).MountPath == mount(installer, "gatewright").MountPath},
		{"Envoy cannot write to it", mount(envoy, "gatewright").ReadOnly},
		{"the hook finds the administration", flag(hook, "--admin") == "/run/envoy/admin.sock"},
		{"the hook and the installer write the same file", flag(hook, "--pressure") == flag(installer.Args, "--pressure")},
		{"the hook knows how long Envoy spreads it", seconds(hook, "--spread") == seconds(envoy.Args, "--drain-time-s")},
		{"who is told last has time left", seconds(hook, "--timeout") > seconds(hook, "--spread")},
		{"the kubelet waits for the hook", float64(*pod.TerminationGracePeriodSeconds) > seconds(hook, "--timeout").Seconds()},
		{"the installer is as restricted as Envoy", !*security.AllowPrivilegeEscalation && *security.ReadOnlyRootFilesystem &&
			*security.RunAsNonRoot && slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"})},
		{"the installer asks for what Envoy does", reflect.DeepEqual(installer.Resources, envoy.Resources)},
		{"no port is opened for it", len(installer.Ports) == 0 && len(envoy.Ports) == 1},
	})
}

// TestDatabases: they are copied before Envoy starts, to where routes say that they are.
func TestDatabases(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	before := render(t, gateway, helperSettings(), exampleBundle).deployment.Spec.Template.Spec
	gateway.Fleet.Proxies.GeoIP = ir.GeoDatabases{City: "/geo/city.mmdb", AnonymousIP: "/geo/a b.mmdb"}
	fleet := render(t, gateway, helperSettings(), exampleBundle)
	pod := fleet.deployment.Spec.Template.Spec
	size := func(spec corev1.PodSpec) int64 {
		i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "gatewright" })
		return spec.Volumes[i].EmptyDir.SizeLimit.Value()
	}
	added := pod.InitContainers[0].Args[len(before.InitContainers[0].Args):]
	check(t, fleet, []fact{
		{"the installer gets the paths", slices.Equal(added, []string{"--geoip-city=/geo/city.mmdb", "--geoip-anonymous-ip=/geo/a b.mmdb"})},
		{"there is room for copies", size(pod) > size(before)},
		{"they are beside the program", path.Dir(helperProgram) == path.Dir(ir.GeoDirectory)},
		{
			"what the installer says is in the status",
			pod.InitContainers[0].TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError,
		},
	})
	if _, err := Fleet(gateway, Settings{SystemNamespace: "gatewright-system"}, exampleBundle); err == nil {
		t.Error("databases are promised where nothing copies them")
	}
}

func TestDrainTimes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		delay, timeout *time.Duration
		want           drainTimes
	}{
		{"defaults", nil, nil, drainTimes{quiet: 5 * time.Second, spread: time.Minute, timeout: 95 * time.Second}},
		{"both are said", new(30 * time.Second), new(10 * time.Minute), drainTimes{
			quiet: 30 * time.Second, spread: 400 * time.Second, timeout: 630 * time.Second,
		}},
		{"short ones leave Envoy a second", new(time.Duration(0)), new(time.Second), drainTimes{spread: time.Second, timeout: time.Second}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gateway := exampleGateway()
			gateway.Fleet.Proxies.Drain = ir.Drain{Delay: test.delay, Timeout: test.timeout}
			if got := drainOf(gateway); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			pod := render(t, gateway, helperSettings(), exampleBundle).deployment.Spec.Template.Spec
			if want := seconds(test.want.timeout + grace); *pod.TerminationGracePeriodSeconds != want {
				t.Errorf("the kubelet waits %d s, want %d", *pod.TerminationGracePeriodSeconds, want)
			}
			if hook := pod.Containers[0].Lifecycle.PreStop.Exec.Command; !slices.Contains(hook, test.want.quiet.String()) || !slices.Contains(
				hook, test.want.timeout.String(),
			) {
				t.Errorf("the hook is %v", hook)
			}
			if !slices.Contains(pod.Containers[0].Args, fmt.Sprint(seconds(test.want.spread))) {
				t.Errorf("Envoy is started with %v", pod.Containers[0].Args)
			}
		})
	}
}
