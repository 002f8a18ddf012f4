package cel_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/cel"
	"github.com/gatewright/gatewright/internal/resolve/expression"
)

// parse reads an expression of a policy that has no other.
func parse(text string) (*ir.CEL, error) {
	return cel.Parse(text, &cel.Budget{Regexes: &expression.Budget{Limits: limits.Defaults()}})
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"request.headers['x-tenant'] == 'a' && request.path.startsWith('/a/')": "",
		"'x-a' in request.headers || !connection.mtls":                         "",
		"request.path.matches('^/v[0-9]+/')":                                   "",
		"has(request.headers.a) ? size(request.query) < 10 : true":             "",
		"metadata.filter_metadata['a']['b'] == 'c'":                            "",

		"request.path": "",
		"size(request.path) + size(request.query) < 100": "",

		"'a'":                                               "it gives a value of type string",
		"request.path ==":                                   "it cannot be read",
		"nothing.at == 'all'":                               "undeclared reference to 'nothing'",
		"request.headers.exists(k, k == 'a')":               "undeclared reference",
		"request.heder == 'a'":                              "request.heder is not known of a request; use one of headers, host",
		"request.path + 'a' == '/a'":                        "it adds what may be texts",
		"request.path + request.host == '/a'":               "it adds what may be texts",
		"'a' in ['b'] + ['a']":                              "it adds what may be texts",
		"response.code == 200":                              "undeclared reference to 'response'",
		"string(1) == '1'":                                  "function string is not served",
		"request.path.matches(request.host)":                "matches needs a text between quotes",
		"request.path.matches('(')":                         "matches: ",
		"request.path.matches('[a-z]{60}[0-9]{60}')":        "too large",
		joined(" || ", 5, "request.path.matches('a%d')"):    "it uses matches 5 times; use it at most 4 times: join alternatives",
		joined(" || ", 4, "request.path.matches('a%d')"):    "",
		"request.path.matches('.{20}')":                     "too large: it compiles to 162 instructions, and 90 are allowed",
		"request.path.matches('.{10}')":                     "",
		"request.path.matches('[^a]{20}')":                  "too large",
		"request.path.matches('[^/]{10}')":                  "",
		"request.path.matches('(?i)secrets')":               "",
		"request.path.matches('(?i)[^k]')":                  "list those that are meant",
		"request.path.matches('\\\\PL')":                    "list those that are meant",
		"request.path.matches('\\\\pN')":                    "list those that are meant",
		"metadata" + strings.Repeat(".a", 50) + " == 'x'":   "it is nested too deeply",
		"metadata" + strings.Repeat(".a", 35) + " == 'x'":   "",
		"1 < " + strings.Repeat("1 + ", 90) + "1":           "it is nested too deeply",
		deepList(90) + " == []":                             "it is nested too deeply",
		deepList(35) + " == []":                             "",
		strings.Repeat("true && ", 150) + "true":            "it has",
		strings.Repeat("a", cel.MaxLength+1):                "use at most 1024",
		strings.Repeat("(", 400) + strings.Repeat(")", 400): "it cannot be read",
	} {
		c, err := parse(text)
		if want == "" {
			if err != nil || c.Text != text || len(c.Expr) == 0 {
				t.Errorf("%.60s: %+v, %v", text, c, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	one, _ := parse("request.path == '/a' && request.host == 'b'")
	two, _ := parse("request.path == '/a' && request.host == 'b'")
	if !bytes.Equal(one.Expr, two.Expr) {
		t.Error("the same text gives other bytes")
	}
}

func deepList(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// joined is a text so often, each with its number.
func joined(separator string, times int, text string) string {
	all := make([]string, times)
	for i := range all {
		all[i] = fmt.Sprintf(text, i)
	}
	return strings.Join(all, separator)
}

// TestPoliciesShareABudget: regular expressions of one policy count together, whichever rule they are in.
func TestPoliciesShareABudget(t *testing.T) {
	t.Parallel()
	few := &cel.Budget{Regexes: &expression.Budget{Limits: limits.Limits{Expression: 50, Expressions: 50}}}
	if _, err := cel.Parse("request.path.matches('a{40}')", few); err != nil {
		t.Error(err)
	}
	if _, err := cel.Parse("request.path.matches('b{40}')", few); err == nil || !strings.Contains(err.Error(), "more than 50 instructions") {
		t.Errorf("beyond the instructions of the policy: %v", err)
	}
	many := &cel.Budget{Regexes: &expression.Budget{Limits: limits.Defaults()}}
	for i := range 5 {
		_, err := cel.Parse(joined(" || ", 4, "request.path.matches('a%d')"), many)
		switch {
		case i < 4 && err != nil:
			t.Error(err)
		case i == 4 && (err == nil || !strings.Contains(err.Error(), "the expressions of the policy use matches more than 16 times; join")):
			t.Errorf("beyond the number of the policy: %v", err)
		}
	}
}
