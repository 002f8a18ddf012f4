package ir_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestADumpIsNoSecret: what stands for a secret in a dump must not be read as one, or clients could send that.
func TestADumpIsNoSecret(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(ir.APIKeyAuth{Keys: []ir.APIKey{{Client: "one", Key: "k1"}}})
	if err != nil || strings.Contains(string(text), "k1") {
		t.Fatalf("written as %s, %v", text, err)
	}
	var read ir.APIKeyAuth
	if err := json.Unmarshal(text, &read); err == nil {
		t.Errorf("read as %q", string(read.Keys[0].Key))
	}
}

func TestValuesOfSecretsAreInNoRouteThatIsNotSecret(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value ir.ContextValue
		guard ir.Guard
		want  bool
	}{
		"a value of the policy": {value: ir.ContextValue{Name: "a"}},
		"a value of a Secret":   {value: ir.ContextValue{Name: "a", Secret: true}, want: true},
		"one that is not asked": {value: ir.ContextValue{Name: "a", Secret: true}, guard: ir.Off},
	} {
		policy := &ir.RequestPolicy{Auth: &ir.ExternalAuth{Guard: c.guard, Context: []ir.ContextValue{c.value}}}
		host := ir.VirtualHost{Policy: policy, Rules: []ir.Rule{{Policy: policy}}}.WithoutSecrets()
		if host.Policy.FailClosed != c.want || host.Rules[0].Policy.FailClosed != c.want {
			t.Errorf("%s: the host is closed: %t", name, host.Policy.FailClosed)
		}
	}
}
