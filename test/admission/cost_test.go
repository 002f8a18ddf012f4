package admission

import (
	"math/bits"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// What the API server takes: the cost that it estimates of one rule, as often as its place may occur in an object, and of all rules of a
// definition.
const (
	maxRuleCost       = 10_000_000
	maxDefinitionCost = 100_000_000
)

// TestRulesCostLittle: the API server takes the rules of the definitions in the chart.
func TestRulesCostLittle(t *testing.T) {
	t.Parallel()
	all, err := Read("../../charts/gatewright/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	for kind, d := range all {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := costs{environment: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())}
			c.add(t, string(kind), d.structural, 1)
			t.Logf("all rules cost %d, and the dearest %d at %s", c.sum, c.most, c.at)
			if c.sum > maxDefinitionCost {
				t.Errorf("all rules cost %d, more than %d", c.sum, maxDefinitionCost)
			}
		})
	}
}

// costs adds up what the rules of a definition may cost.
type costs struct {
	environment *environment.EnvSet
	sum, most   uint64
	at          string
}

// unbounded is how often something may occur whose number has no limit.
const unbounded = 0

// add adds the rules of a part, which may occur so many times in an object.
func (c *costs) add(t *testing.T, path string, s *schema.Structural, times uint64) {
	t.Helper()
	if len(s.XValidations) > 0 {
		declared := model.SchemaDeclType(s, s.XEmbeddedResource)
		rules, err := cel.Compile(s, declared, celconfig.PerCallLimit, c.environment, cel.NewExpressionsEnvLoader())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i := range rules {
			c.addRule(t, path, &rules[i], times)
		}
	}
	for name, property := range s.Properties {
		c.add(t, path+"."+name, &property, times)
	}
	if s.Items != nil {
		c.add(t, path+"[]", s.Items, product(times, s.ValueValidation, func(v *schema.ValueValidation) *int64 { return v.MaxItems }))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		c.add(t, path+"{}", s.AdditionalProperties.Structural,
			product(times, s.ValueValidation, func(v *schema.ValueValidation) *int64 { return v.MaxProperties }))
	}
}

func (c *costs) addRule(t *testing.T, path string, rule *cel.CompilationResult, times uint64) {
	t.Helper()
	if rule.Error != nil {
		t.Errorf("%s: %v", path, rule.Error)
		return
	}
	if times == unbounded {
		times = rule.MaxCardinality
	}
	high, cost := bits.Mul64(rule.MaxCost, times)
	if high > 0 || cost > maxRuleCost {
		t.Errorf("%s: a rule costs %d, %d times", path, rule.MaxCost, times)
		return
	}
	c.sum += cost
	if cost > c.most {
		c.most, c.at = cost, path
	}
}

// product is how often an element of a list or a map may occur that occurs so many times.
func product(times uint64, v *schema.ValueValidation, limit func(*schema.ValueValidation) *int64) uint64 {
	if v == nil || limit(v) == nil || *limit(v) < 0 {
		return unbounded
	}
	return times * uint64(*limit(v)) //nolint:gosec // it is not negative
}
