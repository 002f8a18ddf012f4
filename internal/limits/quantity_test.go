package limits_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/limits"
)

func TestCheckQuantities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		refused    bool
	}{
		{"usual amounts", `{"spec":{"pod":{"resources":{"limits":{"cpu":2,"memory":"1.5Gi","x":"1e3","y":"-3E","z":"1Ei","w":"100m"}}}}}`, false},
		{"a long exponent", `{"limits":{"cpu":"1e-1000000000"}}`, true},
		{"a long exponent of a metric", `{"autoscaling":{"metrics":[{"resource":{"target":{"averageValue":"1E+100"}}}]}}`, true},
		{"an exponent with a fraction", `{"limits":{"cpu":"1e1.5"}}`, true},
		{"many digits", `{"requests":{"cpu":"` + strings.Repeat("7", 1000) + `"}}`, true},
		{"many digits behind escapes", `{"reque\u0073ts":{"cpu":"\u0031e-1000000000"}}`, true},
		{"the same as a label", `{"labels":{"commit":"1e1000000000","digits":"` + strings.Repeat("7", 1000) + `"}}`, false},
		{
			"a name beside quantities",
			`{"autoscaling":{"metrics":[{"external":{"metric":{"name":"every-request-of-the-last-minute-in-all-of-the-zones-of-the-whole-cluster"}}}]}}`,
			false,
		},
		{"a size in a patch", `{"patches":{"deployment":{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e-999999"}}]}}}}`, true},
		{"nothing", ``, false},
		{"half an object", `{"limits":{`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := limits.CheckQuantities([]byte(c.text)); (err != nil) != c.refused {
				t.Errorf("refused: %v, want %v", err, c.refused)
			}
		})
	}
}

func TestCheckNumbers(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		`{"overhead":{"cpu":"1e-1000000000"}}`:                true,
		`{"RESOURCES":{"Limits":{"cpu":"1e1000"}}}`:           true,
		`[[{"any":[1e-1000000000]}]]`:                         true,
		`{"a":"` + strings.Repeat("7", 1000) + `Ki"}`:         true,
		`{"a":"` + strings.Repeat("-", 1000) + `"}`:           false,
		`{"a":"1e3","b":"2Gi","c":7,"d":"2026-11-16","e":""}`: false,
		``: false,
	} {
		if err := limits.CheckNumbers([]byte(text)); (err != nil) != refused {
			t.Errorf("%.60s refused: %v, want %v", text, err, refused)
		}
	}
}
