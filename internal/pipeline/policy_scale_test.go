package pipeline

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// keySet is the public key of RFC 7517, A.1.
const keySet = `{"keys": [{"kty": "EC", "crv": "P-256", "kid": "1", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",` +
	` "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}`

func target(kind, name string) v1alpha1.PolicyTargets {
	return v1alpha1.PolicyTargets{TargetRefs: []gwv1.LocalPolicyTargetReferenceWithSectionName{{
		LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{
			Group: gwv1.GroupName, Kind: gwv1.Kind(kind), Name: gwv1.ObjectName(name),
		},
	}}}
}

// rateLimited is a policy that lets so many requests a second pass.
func rateLimited(name string, targets v1alpha1.PolicyTargets, requests int64) store.Change {
	return change(store.BackendTrafficPolicy, &v1alpha1.BackendTrafficPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name},
		Spec: v1alpha1.BackendTrafficPolicySpec{
			PolicyTargets: targets,
			RateLimit: &v1alpha1.RateLimit{Local: &v1alpha1.LocalRateLimit{
				Rules: []v1alpha1.RateLimitRule{{Limit: v1alpha1.RateLimitValue{Requests: requests, Unit: "Second"}}},
			}},
		},
	})
}

// guarded is a policy that asks for a token of an issuer.
func guarded(name string, targets v1alpha1.PolicyTargets, issuer string) store.Change {
	return change(store.SecurityPolicy, &v1alpha1.SecurityPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name},
		Spec: v1alpha1.SecurityPolicySpec{
			PolicyTargets: targets,
			JWT: &v1alpha1.JWT{Providers: []v1alpha1.JWTProvider{{
				Name: "issuer", Issuer: issuer, LocalJWKS: &v1alpha1.LocalJWKS{Inline: new(keySet)},
			}}},
		},
	})
}

// withPolicies is a scenario with a policy of each of the two kinds on each route.
func withPolicies(s scenario) []store.Change {
	changes := s.changes()
	for i := range s.n {
		route := target("HTTPRoute", fmt.Sprintf("r%d", i))
		changes = append(changes, rateLimited(fmt.Sprintf("p%d", i), route, 100), guarded(fmt.Sprintf("p%d", i), route, "https://a.example.com"))
	}
	return changes
}

func startedWith(changes []store.Change) *Pipeline {
	p := New(discardAll(), prometheus.NewRegistry())
	for _, c := range changes {
		p.Put(c)
	}
	p.Start()
	return p
}

func TestOneEditedPolicyAmongManyComputesOneRoute(t *testing.T) {
	t.Parallel()
	s := scenario{n: 2000}
	p := startedWith(withPolicies(s))
	for name, edit := range map[string]store.Change{
		"BackendTrafficPolicy": rateLimited("p17", target("HTTPRoute", "r17"), 200),
		"SecurityPolicy":       guarded("p17", target("HTTPRoute", "r17"), "https://b.example.com"),
	} {
		p.Put(edit)
		report := p.config.step()
		for stage, n := range report.Computed {
			if n != 1 {
				t.Errorf("%s: stage %q computed %d values for one edited policy", name, stage, n)
			}
		}
		if report.Changed[stageHostProto] != 1 {
			t.Errorf("%s: %d virtual hosts changed, want 1", name, report.Changed[stageHostProto])
		}
		if report.Changed[stageListener] != 0 {
			t.Errorf("%s: %d listeners changed, want none", name, report.Changed[stageListener])
		}
	}
}

func BenchmarkCold10000Policies(b *testing.B) {
	s := scenario{n: 10_000}
	changes := s.changes()
	for i := range s.n {
		changes = append(changes, rateLimited(fmt.Sprintf("p%d", i), target("HTTPRoute", fmt.Sprintf("r%d", i)), 100))
	}
	b.ReportAllocs()
	for b.Loop() {
		startedWith(changes)
	}
}

func BenchmarkCold20000PoliciesOn10000Routes(b *testing.B) {
	changes := withPolicies(scenario{n: 10_000})
	b.ReportAllocs()
	for b.Loop() {
		startedWith(changes)
	}
}

func BenchmarkOnePolicyEditedAmong10000(b *testing.B) {
	p := startedWith(withPolicies(scenario{n: 10_000}))
	b.ReportAllocs()
	computed, i := 0, 0
	for b.Loop() {
		i++
		p.Put(rateLimited("p17", target("HTTPRoute", "r17"), 100+int64(i)))
		computed += p.config.step().Computed[stageRoute]
	}
	b.ReportMetric(float64(computed)/float64(b.N), "routes/op")
}

// BenchmarkAPolicyOfTheGatewayEditedOver10000Routes says how many resources an edit changes that is about all routes.
func BenchmarkAPolicyOfTheGatewayEditedOver10000Routes(b *testing.B) {
	p := startedWith(append((scenario{n: 10_000}).changes(), rateLimited("all", target("Gateway", "gw"), 100)))
	b.ReportAllocs()
	hosts, listeners, i := 0, 0, 0
	for b.Loop() {
		i++
		p.Put(rateLimited("all", target("Gateway", "gw"), 100+int64(i)))
		report := p.config.step()
		hosts, listeners = hosts+report.Changed[stageHostProto], listeners+report.Changed[stageListener]
	}
	b.ReportMetric(float64(hosts)/float64(b.N), "hosts/op")
	b.ReportMetric(float64(listeners)/float64(b.N), "listeners/op")
}
