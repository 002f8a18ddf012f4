//go:build conformance

package conformance

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
)

const (
	gatewayClass = "gatewright"
	reportPath   = "../../conformance/reports/v1.7/gatewright/experimental-v0.1.0-default-report.yaml"
)

// The test cluster gives a Service the first of these addresses if it asks for it, and never the second.
var (
	usableAddress   = gwv1.GatewaySpecAddress{Type: new(gwv1.IPAddressType), Value: "198.18.200.250"}
	unusableAddress = gwv1.GatewaySpecAddress{Type: new(gwv1.IPAddressType), Value: "192.0.2.1"}

	usableAddress6   = gwv1.GatewaySpecAddress{Type: new(gwv1.IPAddressType), Value: "2001:2:0:c8::fa"}
	unusableAddress6 = gwv1.GatewaySpecAddress{Type: new(gwv1.IPAddressType), Value: "2001:db8::1"}
)

// TestConformance runs the suite with its own clean-up and, except for deletions, its own timeouts. It is not parallel, because the suite
// orders its tests itself.
// The suite's flags work: `make conformance TESTFLAGS=-run-test=HTTPRouteSimpleSameNamespace` runs one test and writes no report,
// and neither does a run with -skip-tests.
//
//nolint:paralleltest // see above
func TestConformance(t *testing.T) {
	options := suiteOptions(t)
	usual := choose(t, &options)
	cSuite, err := suite.NewConformanceTestSuite(options)
	if err != nil {
		t.Fatalf("prepare the suite: %v", err)
	}
	// Registered before the suite runs, so it is called after the suite's own clean-up, when a report can be had.
	whole := options.RunTest == "" && len(options.SkipTests) == 0
	t.Cleanup(func() { keepReport(t, cSuite, options.ConformanceProfiles, whole, usual) })

	chosen := testsOf(tests.ConformanceTests, options.SupportedFeatures)
	t.Logf("%d of the suite's %d tests need only what is claimed: %v", len(chosen), len(tests.ConformanceTests), options.SupportedFeatures)
	cSuite.Setup(t, chosen)
	if err := cSuite.Run(t, chosen); err != nil {
		t.Fatalf("run the suite: %v", err)
	}
}

// suiteOptions are what is claimed, and who claims it.
func suiteOptions(t *testing.T) suite.ConformanceOptions {
	t.Helper()
	options := conformance.DefaultOptions(t)
	version, err := live.InstalledVersion(t.Context(), options.Client)
	if err != nil {
		t.Fatalf("find the version for the report: %v", err)
	}
	options.GatewayClassName = gatewayClass
	// The standard has no limit for it. A namespace is gone when its proxies are, and these wait up to 110 s for clients (docs/drain.md).
	options.TimeoutConfig.DeleteTimeout = 3 * time.Minute
	options.ConformanceProfiles = profiles
	options.SupportedFeatures = claimedFeatures()
	options.UsableNetworkAddresses = []gwv1.GatewaySpecAddress{usableAddress}
	options.UnusableNetworkAddresses = []gwv1.GatewaySpecAddress{unusableAddress}
	options.Implementation = confv1.Implementation{
		Organization: "gatewright",
		Project:      "gatewright",
		URL:          "https://github.com/gatewright/gatewright",
		Version:      version,
		Contact:      []string{"https://github.com/gatewright/gatewright/issues"},
	}
	return options
}

// keepReport prints the counts, and if it is about a whole run, says where that fell short and writes the report if it is to be kept.
func keepReport(t *testing.T, cSuite *suite.ConformanceTestSuite, profiles []suite.ConformanceProfileName, whole, kept bool) {
	t.Helper()
	report, err := cSuite.Report()
	if err != nil {
		t.Errorf("make the report: %v", err)
		return
	}
	slices.SortFunc(report.ProfileReports, func(a, b confv1.ProfileReport) int { return cmp.Compare(a.Name, b.Name) })
	fmt.Print(tally(report))
	if !whole {
		return
	}
	for _, s := range shortcomings(report, profiles) {
		t.Error(s)
	}
	if !kept {
		return
	}
	content, err := yaml.Marshal(report)
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
