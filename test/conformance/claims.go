package conformance

import (
	"fmt"
	"slices"
	"strings"

	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatewright/gatewright/internal/resolve/class"
)

// profiles are the conformance profiles that Gatewright claims.
var profiles = []suite.ConformanceProfileName{
	suite.GatewayHTTPConformanceProfileName,
	suite.GatewayGRPCConformanceProfileName,
	suite.GatewayTLSConformanceProfileName,
	suite.GatewayTCPConformanceProfileName,
	suite.GatewayUDPConformanceProfileName,
}

// claimedFeatures is everything that is tested: what the GatewayClass declares. The features are named, because the suite's "all
// features" includes service meshes.
func claimedFeatures() []features.FeatureName {
	claimed := make([]features.FeatureName, 0, len(class.Features))
	for _, name := range class.Features {
		claimed = append(claimed, features.FeatureName(name))
	}
	return claimed
}

// testsOf keeps the tests that need claimed features only; the suite would skip the others and leave them out of its report.
func testsOf(all []suite.ConformanceTest, claimed []features.FeatureName) []suite.ConformanceTest {
	var tests []suite.ConformanceTest
	for _, test := range all {
		needs := func(f features.FeatureName) bool { return !slices.Contains(claimed, f) }
		if !slices.ContainsFunc(test.Features, needs) {
			tests = append(tests, test)
		}
	}
	return tests
}

// shortcomings says where a report falls short of the claims: every profile is there, and nothing in it failed or was skipped.
func shortcomings(report *confv1.ConformanceReport, profiles []suite.ConformanceProfileName) []string {
	var found []string
	for _, profile := range profiles {
		index := slices.IndexFunc(report.ProfileReports, func(p confv1.ProfileReport) bool { return p.Name == string(profile) })
		if index < 0 {
			found = append(found, fmt.Sprintf("%s: not in the report", profile))
			continue
		}
		p := report.ProfileReports[index]
		found = append(found, statusShortcomings(p.Name+" core", p.Core)...)
		if p.Core.Passed == 0 {
			found = append(found, p.Name+" core: no test ran")
		}
		if p.Extended != nil {
			found = append(found, statusShortcomings(p.Name+" extended", p.Extended.Status)...)
		}
	}
	return found
}

func statusShortcomings(name string, status confv1.Status) []string {
	var found []string
	if status.Failed > 0 {
		found = append(found, fmt.Sprintf("%s: %d failed: %s", name, status.Failed, strings.Join(status.FailedTests, ", ")))
	}
	if status.Skipped > 0 {
		found = append(found, fmt.Sprintf("%s: %d skipped: %s", name, status.Skipped, strings.Join(status.SkippedTests, ", ")))
	}
	return found
}

// tally is the line of counts for each profile, for people who read the log.
func tally(report *confv1.ConformanceReport) string {
	var b strings.Builder
	for _, p := range report.ProfileReports {
		fmt.Fprintf(&b, "%s core: %d passed, %d failed, %d skipped\n", p.Name, p.Core.Passed, p.Core.Failed, p.Core.Skipped)
		if p.Extended != nil {
			fmt.Fprintf(&b, "%s extended: %d passed, %d failed, %d skipped\n", p.Name, p.Extended.Passed, p.Extended.Failed, p.Extended.Skipped)
		}
	}
	return b.String()
}
