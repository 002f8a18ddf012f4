package store

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:generate go test -run ^TestChartRules$ -update .

var update = flag.Bool("update", false, "write the rules into the chart")

const (
	templates     = "../../charts/gatewright/templates/"
	kindRulesFile = templates + "_kinds.tpl"
)

// TestChartRules compares the rules of the chart for watched kinds with the descriptors. It writes them with -update.
func TestChartRules(t *testing.T) {
	t.Parallel()
	want := `{{/* Written by make generate from internal/store/kinds.go. */}}

{{/* What is watched in the namespaces of users, and the status that is written there. What Gatewright also writes is in _rules.tpl. */}}
{{- define "gatewright.kindRules" -}}
` + rules(func(d *Descriptor) bool { return !d.ClusterScoped && !d.Managed }) + `{{- end }}

{{/* The same of what has no namespace. */}}
{{- define "gatewright.clusterKindRules" -}}
` + rules(func(d *Descriptor) bool { return d.ClusterScoped && !d.Managed }) + `{{- end }}
`
	if *update {
		if err := os.WriteFile(kindRulesFile, []byte(want), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(kindRulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not as generated; run make generate. It should be:\n%s", kindRulesFile, want)
	}
}

// rules are those for some kinds, one for each group and right.
func rules(of func(*Descriptor) bool) string {
	var groups []string
	objects, statuses := map[string][]string{}, map[string][]string{}
	for _, d := range Kinds {
		if !of(d) {
			continue
		}
		if !slices.Contains(groups, d.Group) {
			groups = append(groups, d.Group)
		}
		objects[d.Group] = append(objects[d.Group], d.Resource)
		if d.Status != nil {
			statuses[d.Group] = append(statuses[d.Group], d.Resource+"/status")
		}
	}
	var text strings.Builder
	for _, right := range []struct {
		resources map[string][]string
		verbs     string
	}{{objects, "[list, watch]"}, {statuses, "[patch]"}} {
		for _, name := range groups {
			if len(right.resources[name]) == 0 {
				continue
			}
			group := name
			if group == "" {
				group = `""`
			}
			fmt.Fprintf(&text, "- apiGroups: [%s]\n  resources:\n", group)
			for _, resource := range right.resources[name] {
				fmt.Fprintf(&text, "    - %s\n", resource)
			}
			fmt.Fprintf(&text, "  verbs: %s\n", right.verbs)
		}
	}
	return text.String()
}

// TestChartLetsManagedKindsBeWatched looks at the rules that are written by hand, whichever values they depend on.
func TestChartLetsManagedKindsBeWatched(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(templates + "_rules.tpl")
	if err != nil {
		t.Fatal(err)
	}
	var plain strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "{{") {
			plain.WriteString(line)
		}
	}
	var written []rbacv1.PolicyRule
	if err := yaml.Unmarshal([]byte(plain.String()), &written); err != nil {
		t.Fatal(err)
	}
	for _, d := range Kinds {
		found := false
		for _, rule := range written {
			if !slices.Contains(rule.APIGroups, d.Group) || !slices.Contains(rule.Resources, d.Resource) {
				continue
			}
			found = true
			if d.Managed && (!slices.Contains(rule.Verbs, "list") || !slices.Contains(rule.Verbs, "watch")) {
				t.Errorf("a rule for %s has only %v", d.Resource, rule.Verbs)
			}
		}
		if d.Managed && !found {
			t.Errorf("there is no rule for %s", d.Resource)
		}
	}
}
