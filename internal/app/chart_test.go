package app

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/gateway-api/pkg/consts"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/infra/authority"
	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/extension"
)

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheChartAgreesWithTheCode compares what the chart and the docs have to repeat.
func TestTheChartAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	flag := func(name string) string { return Command().Flags().Lookup(name).DefValue }
	health, metrics := strings.TrimPrefix(flag("health-address"), ":"), strings.TrimPrefix(flag("metrics-address"), ":")
	const templates, chartReadme = "charts/gatewright/templates/", "charts/gatewright/README.md"
	for path, parts := range map[string][]string{
		templates + "deployment.yaml": {
			"--xds-address=" + flag("xds-address") + "\n",
			"--health-address=" + flag("health-address") + "\n",
			"--metrics-address={{ if .Values.metrics.enabled }}" + flag("metrics-address") + "{{",
			"--service-account=" + flag("service-account") + "\n",
			"serviceAccountName: " + flag("service-account") + "\n",
			fmt.Sprintf("name: xds\n              containerPort: %d\n", bootstrap.DefaultXDSPort),
			fmt.Sprintf("name: health\n              containerPort: %s\n", health),
			fmt.Sprintf("name: metrics\n              containerPort: %s\n", metrics),
			"mountPath: " + bootstrap.TokenDirectory + "\n",
			"path: " + bootstrap.TokenFile + "\n",
			"audience: " + render.TokenAudience + "\n",
			".Values.extensions." + extension.TypeExtProc + ".enabled }}\n            - --extensions=" + extension.TypeExtProc + "\n",
			".Values.extensions." + extension.TypeLua + ".enabled }}\n            - --extensions=" + extension.TypeLua + "\n",
		},
		templates + "service.yaml": {
			"name: " + bootstrap.XDSService + "\n", fmt.Sprintf("port: %d\n", bootstrap.DefaultXDSPort),
		},
		templates + "serviceaccount.yaml": {"name: " + flag("service-account") + "\n"},
		templates + "networkpolicy.yaml": {
			fmt.Sprintf("- port: %d\n", bootstrap.DefaultXDSPort), fmt.Sprintf("- port: %s\n", metrics),
			ir.ManagedByLabel + ": " + ir.ManagedBy + "\n", render.ComponentLabel + ": " + render.Component + "\n",
		},
		templates + "role.yaml": {
			"resourceNames: [" + leaderElectionID + "]\n", "resourceNames: [" + authority.SecretName + "]\n",
		},
		templates + "_rules.tpl": {fmt.Sprintf(".Values.controllerName %q }}", class.ControllerName)},
		chartReadme: {
			"| `proxy.image` | `" + render.DefaultImage + "` |",
			"| `controllerName` | `" + string(class.ControllerName) + "` |",
			fmt.Sprintf("Ports of a pod: %d xDS (TLS, and a token on each call), %s health, %s metrics. The Service %#q leads",
				bootstrap.DefaultXDSPort, health, metrics, bootstrap.XDSService),
		},
		"docs/status.md":      {"envoy:      " + render.EnvoyVersion + "\ngatewayAPI: " + consts.BundleVersion + "\n"},
		"docs/data-planes.md": {fmt.Sprintf("port %d of Gatewright", bootstrap.DefaultXDSPort), fmt.Sprintf("port %d of proxies", ir.ReadyPort)},
		"docs/proxyconfig.md": {
			fmt.Sprintf("%#q at port %d", bootstrap.ReadyPath, ir.ReadyPort), fmt.Sprintf("%#q at port %d", bootstrap.MetricsPath, ir.ReadyPort),
		},
		"docs/egress.md": {
			fmt.Sprintf("{%s: %s, %s: %s}", ir.ManagedByLabel, ir.ManagedBy, render.ComponentLabel, render.Component),
			fmt.Sprintf("{port: %d, protocol: TCP}", bootstrap.DefaultXDSPort),
		},
		"api/v1alpha1/telemetry.go": {fmt.Sprintf("at %#q on its port %d.", bootstrap.MetricsPath, ir.ReadyPort)},
	} {
		text := read(t, path)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not contain %q", path, part)
			}
		}
	}
}

func TestTheValuesOfTheChartAreTheDefaultsOfTheFlags(t *testing.T) {
	t.Parallel()
	var values struct {
		Proxy          struct{ Image string }
		ControllerName string
		Log            struct{ Level, Format string }
		Extensions     map[string]any
	}
	if err := yaml.Unmarshal([]byte(read(t, "charts/gatewright/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"proxy-image": values.Proxy.Image, "controller-name": values.ControllerName, "log-level": values.Log.Level,
		"log-format": values.Log.Format,
	} {
		if flag := Command().Flags().Lookup(name).DefValue; flag != value {
			t.Errorf("the default of --%s is %q, and the chart has %q", name, flag, value)
		}
	}
	for _, name := range []string{extension.TypeExtProc, extension.TypeLua} {
		if values.Extensions[name] == nil {
			t.Errorf("the chart has no value extensions.%s", name)
		}
	}
	if len(values.Extensions) != 2 {
		t.Errorf("the chart has extensions %v", values.Extensions)
	}
}

var chartFlag = regexp.MustCompile(`- --([a-z-]+)`)

func TestEveryFlagOfTheChartExists(t *testing.T) {
	t.Parallel()
	found := chartFlag.FindAllStringSubmatch(read(t, "charts/gatewright/templates/deployment.yaml"), -1)
	for _, flag := range found {
		if Command().Flags().Lookup(flag[1]) == nil {
			t.Errorf("the chart sets --%s, which is no flag", flag[1])
		}
	}
	if len(found) < 10 {
		t.Errorf("found %d flags", len(found))
	}
}
