//go:build charts

package charts

import (
	"context"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestDefinitionsOfGatewright: the chart gatewright, which has the definitions of its kinds as plain objects, does not lose them either.
func TestDefinitionsOfGatewright(t *testing.T) {
	const gatewright, extensions = "../../charts/gatewright", "extensions.gatewright.dev"
	clean(t)
	upgrade := []string{"upgrade", "gatewright", gatewright, "--set=gatewayClass.create=false"}
	helm(t, append(upgrade, "--install")...)
	t.Cleanup(func() { _, _ = command(context.Background(), "", "helm", "uninstall", "gatewright") })
	text, err := os.ReadFile(gatewright + "/files/crds/gatewright.dev_extensions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	object["metadata"] = map[string]any{"name": extensions}
	if text, err = yaml.Marshal(object); err != nil {
		t.Fatal(err)
	}
	kubectl(t, string(text), "replace", "--filename=-")
	replaced := live(t)
	refused(t, []string{"kubectl annotate crd " + extensions + " helm.sh/resource-policy=keep"}, upgrade...)
	refused(t, []string{"kubectl annotate crd " + extensions}, append(upgrade, "--set=crds.create=false")...)
	kubectl(t, "", "annotate", "crd", extensions, "helm.sh/resource-policy=keep")
	helm(t, upgrade...)
	unchanged(t, replaced)
	kubectl(t, "", "annotate", "--overwrite", "crd", "backends.gatewright.dev", "gatewright.dev/version=v9.0.0")
	refused(t, []string{"backends.gatewright.dev", "v9.0.0"}, upgrade...)
}
