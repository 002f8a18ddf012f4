package expression

import (
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/limits"
)

func TestCheckRegex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, expression, problem string
	}{
		{"an ordinary one", `/users/[0-9]+(/.*)?`, ""},
		{"a general category", `\pL\p{Lu}\P{Nd}\p{^Z}`, ""},
		{"a script with ASCII letters", `\p{Latin}+`, ""},
		{"a negated class", `[^/]+`, ""},
		{"case that does not matter", `(?i)[ks]k`, ""},
		{"a quotation is no escape", `\Q\x{100}\p{Nope}\E`, ""},
		{"an escaped backslash is no escape", `\\x{100}`, ""},
		{"an escape within ASCII", `\x{7f}\x41`, ""},
		{"a syntax error", `(`, "missing closing )"},
		{"a look-ahead", `(?=a)`, "invalid or unsupported Perl syntax"},
		{"any byte", `\C`, "invalid escape sequence"},
		{"a character outside ASCII", `/bücher`, "ASCII characters only"},
		{"an escape outside ASCII", `\x{10FFFF}`, "ASCII characters only"},
		{"a byte outside ASCII", `\xff`, "ASCII characters only"},
		{"an escape outside ASCII in a class", `[a\x{212A}]`, "ASCII characters only"},
		{"a script without ASCII letters", `\p{Greek}`, `do not know the class \p{Greek}`},
		{"a class that only Go knows", `\p{Letter}`, `do not know the class \p{Letter}`},
		{"a class in lower case", `\p{lu}`, `do not know the class \p{lu}`},
		{"a class of what is outside ASCII", `[^[:ascii:]]`, "ASCII characters only"},
		{"many repetitions", `[a-z]{1000}`, ""},
		{"too many repetitions", `[a-z]{1001}`, "invalid repeat count"},
		{"too many instructions", `([a-z]{100}[0-9]{100}){100}`, "invalid repeat count"},
		{"too many instructions in a row", strings.Repeat(`(?:[a-z]{1000}/)`, 21), "compiles to more than 5000"},
		{"many repetitions of many", strings.Repeat(`a{1000}`, 585), "compiles to more than 5000"},
		{"many alternatives of many", `a{999}|b{999}|c{999}|d{999}|e{999}|f{999}`, "compiles to more than 5000"},
		{"nothing, very often", `(?:){1000}a{0}`, ""},
		{"too many characters", strings.Repeat("a", 4097), "it has 4097 characters"},
		{"too many classes", `[` + strings.Repeat(`\pL\PN`, 33) + `]`, "it has 66 named classes"},
		{"too many ranges", `[acegikmoqsuwyACEGIKMOQSUWY]{1000}`, "compiles to more than 5000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := Budget{Limits: limits.Defaults()}
			err := e.Take(c.expression)
			if (err == nil) != (c.problem == "") || (err != nil && !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("error is %v, want %q", err, c.problem)
			}
		})
	}
}

// A route has room for thousands of expressions, each of which could take a second to compile.
func TestExpressionsThatAreTooLargeAreNotCompiled(t *testing.T) {
	t.Parallel()
	e := Budget{Limits: limits.Defaults()}
	large, classes := strings.Repeat(`[a-z]{1000}`, 370), `[`+strings.Repeat(`\pL\pN`, 32)+`]`
	begin := time.Now()
	for range 2000 {
		if e.Take(large) == nil {
			t.Fatal("it is taken")
		}
	}
	refused := 0
	for range 2000 {
		if e.Take(classes) != nil {
			refused++
		}
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("4000 expressions took %v", took)
	}
	if refused != 2000-16 {
		t.Errorf("%d of 2000 expressions with 64 classes each are refused", refused)
	}
}
