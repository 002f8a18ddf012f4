//go:build inference

package inference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/gateway-api-inference-extension/conformance"
	"sigs.k8s.io/gateway-api-inference-extension/conformance/tests"
	bundle "sigs.k8s.io/gateway-api-inference-extension/version"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
)

const (
	reportPath = "../../conformance/reports/inference/v1.6.0/gateway/gatewright/v0.1.0-default-gateway-report.yaml"
	// poolDefinition is the definition whose annotation is the version in the report.
	poolDefinition = "inferencepools.inference.networking.k8s.io"
)

// TestInference runs the suite with its own timeouts and clean-up. It is not parallel, because the suite orders its tests itself.
// `make conformance-inference TESTFLAGS=-run-test=InferencePoolAccepted` runs one test and writes no report, and neither does a run with
// -skip-tests.
//
//nolint:paralleltest // see above
func TestInference(t *testing.T) {
	options := conformance.DefaultOptions(t)
	version, err := live.InstalledVersion(t.Context(), options.Client)
	if err != nil {
		t.Fatalf("find the version for the report: %v", err)
	}
	options.GatewayClassName = live.GatewayClass
	options.Implementation = confv1.Implementation{
		Organization: "gatewright", Project: "gatewright", URL: "https://github.com/gatewright/gatewright", Version: version,
		Contact: []string{"https://github.com/gatewright/gatewright/issues"},
	}
	suite.RegisterConformanceProfile(conformance.GatewayLayerProfile)
	cSuite, err := suite.NewConformanceTestSuite(options)
	if err != nil {
		t.Fatalf("prepare the suite: %v", err)
	}
	installed := installedVersion(t, options.Client)
	// Registered before the suite runs, so it is called after the suite's own clean-up, when a report can be had.
	whole := options.RunTest == "" && len(options.SkipTests) == 0
	t.Cleanup(func() { keepReport(t, cSuite, installed, whole) })

	conformance.SetupConformanceTestSuite(t.Context(), t, cSuite, options, tests.ConformanceTests)
	if err := cSuite.Run(t, tests.ConformanceTests); err != nil {
		t.Fatalf("run the suite: %v", err)
	}
}

// installedVersion is the version of the definitions in the cluster, which must be that of the directory of the report.
func installedVersion(t *testing.T, c client.Client) string {
	t.Helper()
	var definition apiextensionsv1.CustomResourceDefinition
	if err := c.Get(t.Context(), client.ObjectKey{Name: poolDefinition}, &definition); err != nil {
		t.Fatalf("get the definition of InferencePools, which make install INFERENCE=1 installs: %v", err)
	}
	installed := definition.Annotations[bundle.BundleVersionAnnotation]
	if !strings.Contains(reportPath, "/"+installed+"/") {
		t.Fatalf("version %s is installed, and the report is %s", installed, reportPath)
	}
	return installed
}

// keepReport prints the counts. After a whole run it says where that fell short, and writes the report.
func keepReport(t *testing.T, cSuite *suite.ConformanceTestSuite, installed string, whole bool) {
	t.Helper()
	report, err := cSuite.Report()
	if err != nil {
		t.Errorf("make the report: %v", err)
		return
	}
	passed := 0
	for _, p := range report.ProfileReports {
		fmt.Printf("%s core: %d passed, %d failed, %d skipped\n", p.Name, p.Core.Passed, p.Core.Failed, p.Core.Skipped)
		passed += int(p.Core.Passed)
	}
	if !whole {
		return
	}
	if passed != len(tests.ConformanceTests) {
		t.Errorf("%d of %d tests passed", passed, len(tests.ConformanceTests))
	}
	content, err := yaml.Marshal(conformance.GatewayAPIInferenceExtensionConformanceReport{
		GatewayAPIInferenceExtensionVersion: installed, ConformanceReport: *report,
	})
	if err != nil {
		t.Errorf("write the report as YAML: %v", err)
		return
	}
	if err := os.MkdirAll(filepath.Dir(reportPath), 0o755); err != nil {
		t.Errorf("make the directory of the report: %v", err)
	}
	if err := os.WriteFile(reportPath, content, 0o644); err != nil {
		t.Errorf("keep the report: %v", err)
	}
}
