package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gatewright/gatewright/internal/limits"
)

// Budget counts the instructions that the expressions of one object compile to, until they are too many.
type Budget struct {
	Limits limits.Limits
	size   int
	// classes counts the names of classes, each of which takes as long to read as a thousand characters.
	classes int
}

// What is read at all is bounded by these. No field is longer, and no expression in use has nearly as many classes.
const (
	// MaxLength is how long an expression may be.
	MaxLength        = 4096
	maxClasses       = 64
	maxObjectClasses = 1024
)

// Take adds an expression, in the syntax that Go and Envoy's RE2 have in common. It says why a proxy would refuse it.
func (e *Budget) Take(expression string) error {
	if e.size > e.Limits.Expressions {
		return e.tooMany()
	}
	if err := e.readable(expression); err != nil {
		return err
	}
	size, err := regexSize(expression, e.Limits.Expression)
	if err != nil {
		return err
	}
	if size > e.Limits.Expression {
		return fmt.Errorf("the expression is too large: it compiles to more than %d instructions; repeat less, or use several matches",
			e.Limits.Expression)
	}
	if e.size += size; e.size > e.Limits.Expressions {
		return e.tooMany()
	}
	return nil
}

// Size is how many instructions have been taken.
func (e *Budget) Size() int { return e.size }

func (e *Budget) tooMany() error {
	return fmt.Errorf("the expressions of the route compile to more than %d instructions together; use exact and prefix matches where "+
		"you can, or several routes", e.Limits.Expressions)
}

// readable refuses what takes long even to read.
func (e *Budget) readable(expression string) error {
	classes := strings.Count(expression, `\p`) + strings.Count(expression, `\P`)
	switch e.classes += classes; {
	case len(expression) > MaxLength:
		return fmt.Errorf("the expression is too large: it has %d characters, and %d are allowed", len(expression), MaxLength)
	case classes > maxClasses:
		return fmt.Errorf("the expression is too large: it has %d named classes such as \\pL, and %d are allowed", classes, maxClasses)
	case e.classes > maxObjectClasses:
		return fmt.Errorf("the expressions of the route have more than %d named classes such as \\pL together", maxObjectClasses)
	default:
		return nil
	}
}

// regexSize is how many instructions an expression compiles to in a proxy. One that certainly compiles to more than the limit is not
// compiled.
func regexSize(expression string, limit int) (int, error) {
	if err := checkDialect(expression); err != nil {
		return 0, err
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, explained(err)
	}
	if err := checkASCII(parsed); err != nil {
		return 0, err
	}
	if size := leastSize(parsed); size > limit {
		return size, nil
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return sizeOf(program), nil
}

// errNotASCII is for what Envoy would compare byte by byte, and so not with the character that was meant.
var errNotASCII = errors.New("proxies compare regular expressions byte by byte, so they can hold ASCII characters only; in a path, " +
	"write others as %XX")

// classNames are the names of classes that RE2 knows too and that have an ASCII character. Go knows others and more ways to write them.
var classNames = append(slices.Collect(func(yield func(string) bool) {
	for name := range unicode.Categories {
		if name != "LC" && name != "Cn" && len(name) <= 2 && !yield(name) {
			return
		}
	}
}), "Any", "Latin", "Common")

// escapes finds what stands behind a backslash, and quotations as a whole.
var escapes = regexp.MustCompile(`\\(?:Q(?s:.*?)(?:\\E|\z)|x\{([0-9A-Fa-f]+)\}|[pP](?:\{\^?([^}]*)\}|(.))|(?s:.))`)

// checkDialect looks for what Go reads and Envoy does not: characters that do not fit a byte, and names of classes.
func checkDialect(expression string) error {
	if strings.IndexFunc(expression, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		return errNotASCII
	}
	for _, found := range escapes.FindAllStringSubmatch(expression, -1) {
		if hex := found[1]; hex != "" {
			if value, err := strconv.ParseUint(hex, 16, 32); err != nil || value > unicode.MaxASCII {
				return errNotASCII
			}
		}
		if name := found[2] + found[3]; name != "" && !slices.Contains(classNames, name) {
			return fmt.Errorf("proxies do not know the class %s; use one of the general categories, such as \\pL", found[0])
		}
	}
	return nil
}

// checkASCII makes sure that every part can match what it says, of which proxies see the bytes.
func checkASCII(e *syntax.Regexp) error {
	if e.Op == syntax.OpLiteral && slices.Max(e.Rune) > unicode.MaxASCII {
		return errNotASCII
	}
	if e.Op == syntax.OpCharClass && len(e.Rune) > 0 && e.Rune[0] > unicode.MaxASCII {
		return errNotASCII
	}
	for _, sub := range e.Sub {
		if err := checkASCII(sub); err != nil {
			return err
		}
	}
	return nil
}

// leastSize is what an expression compiles to at least. It takes no longer than the expression is long, while to compile `a{1000}`, five
// hundred times in a row, takes megabytes.
func leastSize(e *syntax.Regexp) int {
	sum := 0
	for _, sub := range e.Sub {
		sum += leastSize(sub)
	}
	switch e.Op {
	case syntax.OpLiteral:
		return len(e.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpRepeat:
		return sum * max(e.Min, e.Max)
	default:
		return sum
	}
}

// sizeOf counts instructions as Envoy does, which needs one for each range of bytes, and one more to choose between two.
func sizeOf(program *syntax.Prog) int {
	size := 0
	for i := range program.Inst {
		ranges := 1
		if inst := &program.Inst[i]; inst.Op == syntax.InstRune {
			for low := 2; low < len(inst.Rune) && inst.Rune[low] <= unicode.MaxLatin1; low += 2 {
				ranges++
			}
		}
		size += 2*ranges - 1
	}
	return size
}

// explained adds what to do about an expression in the dialect of Perl or PCRE.
func explained(err error) error {
	var parsing *syntax.Error
	if !errors.As(err, &parsing) || parsing.Code != syntax.ErrInvalidPerlOp {
		return err
	}
	switch {
	case slices.Contains([]string{"(?=", "(?!", "(?<", "(?<=", "(?<!"}, parsing.Expr):
		return fmt.Errorf("%w; RE2, which proxies use, knows no look-around: match what is wanted, and give what is not a rule of its own", err)
	default:
		return fmt.Errorf("%w; proxies use RE2, see https://github.com/google/re2/wiki/Syntax", err)
	}
}
