//go:build conformance

package conformance

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance/utils/suite"

	"github.com/gatewright/gatewright/test/conformance/upstream"
	"github.com/gatewright/gatewright/test/live"
)

// TestUpstream runs the tests that are to be contributed to the suite, as the suite would. It makes no report. One of them alone is run by
// `make conformance TESTFLAGS="-test.run=TestUpstream -run-test=HTTPRouteBackendServiceImport"`.
//
//nolint:paralleltest // the suite orders its tests itself
func TestUpstream(t *testing.T) {
	options := suiteOptions(t)
	choose(t, &options)
	live.InstallServiceImports(t, options.Client)
	options.ManifestFS = append(options.ManifestFS, &upstream.Manifests)
	cSuite, err := suite.NewConformanceTestSuite(options)
	if err != nil {
		t.Fatalf("prepare the suite: %v", err)
	}
	chosen := testsOf(upstream.Tests, options.SupportedFeatures)
	cSuite.Setup(t, chosen)
	if err := cSuite.Run(t, chosen); err != nil {
		t.Fatalf("run the suite: %v", err)
	}
}
