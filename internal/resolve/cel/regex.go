package cel

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"unicode"
)

// Envoy reads texts of expressions as UTF-8, and needs so many instructions for all characters outside ASCII, or for one of them.
const (
	wideSize   = 6
	singleSize = 3
)

// checkRegex says why Envoy would not compile a regular expression in an expression, which can be read.
func checkRegex(regex string) error {
	parsed, err := syntax.Parse(regex, syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	size := 0
	for i := range program.Inst {
		of, err := sizeOf(&program.Inst[i])
		if err != nil {
			return err
		}
		size += of
	}
	if size > maxRegex {
		return fmt.Errorf("the regular expression is too large: it compiles to %d instructions, and %d are allowed; each . or [^a] takes 8, "+
			"so repeat less, or list the characters that are meant", size, maxRegex)
	}
	return nil
}

// sizeOf is how many instructions Envoy needs for one of Go.
func sizeOf(inst *syntax.Inst) (int, error) {
	switch inst.Op {
	case syntax.InstRuneAny:
		return 1 + wideSize, nil
	case syntax.InstRuneAnyNotNL:
		return 2 + wideSize, nil
	case syntax.InstRune, syntax.InstRune1:
	default:
		return 1, nil
	}
	if len(inst.Rune) == 1 {
		if inst.Op == syntax.InstRune { // in either case: k and s have a third one outside ASCII
			return 1 + singleSize, nil
		}
		return 1, nil
	}
	size := 0
	for i := 0; i+1 < len(inst.Rune); i += 2 {
		low, high := inst.Rune[i], inst.Rune[i+1]
		if low <= unicode.MaxASCII {
			size++
			low = unicode.MaxASCII + 1
		}
		switch {
		case high < low:
		case low == unicode.MaxASCII+1 && high == unicode.MaxRune:
			size += wideSize
		case low == high:
			size += singleSize
		default:
			return 0, errors.New("a class such as \\pL, or (?i) with [^k] or [^s], stands for too many characters; list those that are meant")
		}
	}
	return size, nil
}
