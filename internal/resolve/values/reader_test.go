package values_test

import (
	"testing"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

// TestOnlyAnExactValueMayBeEmpty: Envoy rejects a prefix, a suffix and an expression without characters.
func TestOnlyAnExactValueMayBeEmpty(t *testing.T) {
	t.Parallel()
	for kind, want := range map[v1alpha1.StringMatchType]bool{
		"": true, v1alpha1.StringMatchExact: true, v1alpha1.StringMatchPrefix: false, v1alpha1.StringMatchSuffix: false,
		v1alpha1.StringMatchRegularExpression: false,
	} {
		r := &values.Reader{Expressions: expression.Budget{Limits: limits.Defaults()}}
		if _, ok := r.Match("field", v1alpha1.StringMatch{Type: &kind}); ok != want || (len(r.Problems) == 0) != want {
			t.Errorf("an empty value of type %q is served: %t, problems %q", kind, ok, r.Problems)
		}
		if _, ok := r.Match("field", v1alpha1.StringMatch{Type: &kind, Value: "a"}); !ok {
			t.Errorf("a value of type %q is not served: %q", kind, r.Problems)
		}
	}
}

func TestATypeThatIsNotKnownIsAProblem(t *testing.T) {
	t.Parallel()
	r := &values.Reader{Expressions: expression.Budget{Limits: limits.Defaults()}}
	if _, ok := r.Match("field", v1alpha1.StringMatch{Type: new(v1alpha1.StringMatchType("Glob")), Value: "a"}); ok || len(r.Problems) != 1 {
		t.Errorf("it is served: %t, problems %q", ok, r.Problems)
	}
}
