//go:build !conformance

package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// ownTests are the tests of test/e2e that prove a feature of the standard of which the suite has no test.
var ownTests = map[features.FeatureName][]string{
	features.SupportClusterTrustBundle:               {"TestClientCertificates", "TestBackendTrustBundle"},
	features.SupportGatewayAddressRoutability:        {"TestAddressRoutability"},
	features.SupportGatewayAddressRoutabilityCluster: {"TestAddressRoutability"},
	features.SupportGatewayListenerFilters:           {"TestListenerFilters", "TestListenerExtension"},
}

// nameless is what the standard has no feature for yet, so that nothing can be declared. All of it is in the experimental channel.
var nameless = []struct {
	name  string
	tests []string
}{
	{"HTTPRoute: filter ExternalAuth", []string{"TestExternalAuth"}},
	{"HTTPRoute: sessionPersistence", []string{"TestSessionPersistence", "TestSessionPersistenceWithWeights"}},
	{"Gateway: defaultScope; routes: useDefaultGateways", []string{"TestDefaultGateway"}},
	{"XBackend: EndpointSelector, sessionPersistence", []string{"TestXBackendEndpointSelector"}},
	{"XBackend: ExternalHostname, tls", []string{"TestXBackendExternalHostname"}},
	{"XBackendTrafficPolicy: retryConstraint", []string{"TestRetryBudget"}},
	{"XTelemetryPolicy: tracing", []string{"TestTelemetryPolicy"}},
}

func TestEveryClaimIsProved(t *testing.T) {
	t.Parallel()
	claimed := testsOf(tests.ConformanceTests, claimedFeatures())
	for _, name := range claimedFeatures() {
		suite, own := len(proofs(name, claimed)), len(ownTests[name])
		if suite == 0 && own == 0 {
			t.Errorf("no test proves %s", name)
		}
		if suite > 0 && own > 0 {
			t.Errorf("the suite proves %s: remove it from ownTests", name)
		}
	}
	for name := range ownTests {
		if !slices.Contains(claimedFeatures(), name) {
			t.Errorf("%s is proved and not declared", name)
		}
	}
}

func TestEveryFeatureOfGatewaysIsClaimed(t *testing.T) {
	t.Parallel()
	for _, f := range features.AllFeatures.UnsortedList() {
		mesh := strings.HasPrefix(string(f.Name), string(features.SupportMesh))
		if !mesh && !slices.Contains(claimedFeatures(), f.Name) {
			t.Errorf("%s is not claimed", f.Name)
		}
	}
}

func TestOwnTestsExist(t *testing.T) {
	t.Parallel()
	exist := map[string]bool{}
	paths, err := filepath.Glob("../e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
				exist[f.Name.Name] = true
			}
		}
	}
	var named []string
	for _, list := range ownTests {
		named = append(named, list...)
	}
	for _, n := range nameless {
		named = append(named, n.tests...)
	}
	for _, name := range named {
		if !exist[name] {
			t.Errorf("test/e2e has no %s", name)
		}
	}
}
