package expression

import (
	"regexp"
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
	const count = 2000
	// cheap fails if that many calls take a tenth of the time to compile the expression as often.
	cheap := func(expression string, take func()) {
		t.Helper()
		most := count / 10 * min(compileTime(t, expression), compileTime(t, expression))
		began := time.Now()
		for i := range count {
			take()
			if took := time.Since(began); took > most {
				t.Fatalf("%d expressions took %v, want at most %v for %d", i+1, took, most, count)
			}
		}
	}
	cheap(large, func() {
		if e.Take(large) == nil {
			t.Fatal("it is taken")
		}
	})
	refused := 0
	cheap(classes, func() {
		if e.Take(classes) != nil {
			refused++
		}
	})
	if refused != count-16 {
		t.Errorf("%d of %d expressions with 64 classes each are refused", refused, count)
	}
}

func compileTime(t *testing.T, expression string) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := regexp.Compile(expression); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}
