//go:build !conformance

package conformance

import (
	"slices"
	"testing"

	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/pkg/features"
)

func TestClaimedTests(t *testing.T) {
	t.Parallel()
	claimed := testsOf(tests.ConformanceTests, claimedFeatures())
	if len(claimed) == 0 || len(claimed) == len(tests.ConformanceTests) {
		t.Fatalf("%d of %d tests are claimed", len(claimed), len(tests.ConformanceTests))
	}
	for _, test := range claimed {
		if slices.Contains(test.Features, features.SupportMesh) {
			t.Errorf("%s is a test of service meshes", test.ShortName)
		}
	}
}

func TestShortcomings(t *testing.T) {
	t.Parallel()
	report := func(change func(http, grpc *confv1.ProfileReport)) *confv1.ConformanceReport {
		whole := &confv1.ConformanceReport{}
		for _, profile := range profiles {
			p := confv1.ProfileReport{Name: string(profile)}
			p.Core.Passed = 10
			whole.ProfileReports = append(whole.ProfileReports, p)
		}
		change(&whole.ProfileReports[0], &whole.ProfileReports[1])
		return whole
	}
	tests := map[string]struct {
		report *confv1.ConformanceReport
		want   []string
	}{
		"all passed is enough": {
			report: report(func(_, _ *confv1.ProfileReport) {}),
		},
		"a failed core test is named": {
			report: report(func(http, _ *confv1.ProfileReport) {
				http.Core.Failed, http.Core.FailedTests = 1, []string{"HTTPRouteSimple"}
			}),
			want: []string{"GATEWAY-HTTP core: 1 failed: HTTPRouteSimple"},
		},
		"a skipped core test is not a pass": {
			report: report(func(_, grpc *confv1.ProfileReport) {
				grpc.Core.Skipped, grpc.Core.SkippedTests = 1, []string{"GRPCRouteWeight"}
			}),
			want: []string{"GATEWAY-GRPC core: 1 skipped: GRPCRouteWeight"},
		},
		"a profile without tests proves nothing": {
			report: report(func(_, grpc *confv1.ProfileReport) { grpc.Core.Passed = 0 }),
			want:   []string{"GATEWAY-GRPC core: no test ran"},
		},
		"a missing profile is missed": {
			report: &confv1.ConformanceReport{},
			want: []string{
				"GATEWAY-HTTP: not in the report", "GATEWAY-GRPC: not in the report", "GATEWAY-TLS: not in the report",
				"GATEWAY-TCP: not in the report", "GATEWAY-UDP: not in the report",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := shortcomings(test.report, profiles); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
