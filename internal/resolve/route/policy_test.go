package route_test

import "testing"

func TestRulesWithTheSameSettingsShareThem(t *testing.T) {
	t.Parallel()
	const backends = "backendRefs: [{name: one, port: 80}]"
	f := newFixture(t, "l:80:", httpRoute("r", "1", `  rules:
  - {matches: [{path: {value: /a}}, {path: {value: /b}}], timeouts: {request: 3s}, `+backends+`}
  - {matches: [{path: {value: /c}}], timeouts: {request: 3s}, `+backends+`}
  - {matches: [{path: {value: /d}}], timeouts: {request: 4s}, `+backends+`}
  - {matches: [{path: {value: /e}}], `+backends+`}`))
	r, _ := f.routes.Get(nil, "HTTPRoute/infra/r")
	if len(r.Rules) != 5 {
		t.Fatalf("rules: %+v", r.Rules)
	}
	first := r.Rules[0].Policy
	if first == nil || r.Rules[1].Policy != first || r.Rules[2].Policy != first {
		t.Error("rules with the same settings do not share them")
	}
	if r.Rules[3].Policy == nil || r.Rules[3].Policy == first {
		t.Error("a rule with other settings has those of the first")
	}
	if r.Rules[4].Policy != nil {
		t.Errorf("a rule without settings has %+v", r.Rules[4].Policy)
	}
}
