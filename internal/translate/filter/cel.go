package filter

import (
	"regexp/syntax"
	"slices"
	"unicode"

	celexpr "cel.dev/expr"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

// celCondition is met by requests for which an expression is true. Envoy does not tell what it cannot evaluate from what is false, so a
// condition of a rule that denies is that the opposite is not true.
func celCondition(c *ir.CEL, allow bool) *predicate {
	parsed := &celexpr.Expr{}
	if err := proto.Unmarshal(c.Expr, parsed); err != nil {
		// Nothing is true for any request.
		parsed = &celexpr.Expr{}
	}
	failWithoutUTF8(parsed)
	if allow {
		return celMatch(parsed)
	}
	return not(celMatch(celCall("!_", parsed)))
}

// celCall calls a function. Envoy does not look at the identities of parts of an expression.
func celCall(function string, args ...*celexpr.Expr) *celexpr.Expr {
	return &celexpr.Expr{ExprKind: &celexpr.Expr_CallExpr{CallExpr: &celexpr.Expr_Call{Function: function, Args: args}}}
}

func celNumber(value int64) *celexpr.Expr {
	constant := &celexpr.Constant{ConstantKind: &celexpr.Constant_Int64Value{Int64Value: value}}
	return &celexpr.Expr{ExprKind: &celexpr.Expr_ConstExpr{ConstExpr: constant}}
}

// failWithoutUTF8 changes an expression so that it fails where it compares a text that is not UTF-8 with a regular expression that has a
// part for any character. Envoy matches none of these with a byte that is not UTF-8, so such a text would not be denied, or be allowed
// because it does not match.
func failWithoutUTF8(e *celexpr.Expr) {
	for _, part := range celParts(e) {
		failWithoutUTF8(part)
	}
	call := e.GetCallExpr()
	if call.GetFunction() != "matches" || len(call.GetArgs()) == 0 {
		return
	}
	if regex := call.GetArgs()[len(call.GetArgs())-1].GetConstExpr(); !matchesAnyCharacter(regex.GetStringValue()) {
		return
	}
	matches, isUTF8 := proto.CloneOf(e), proto.CloneOf(e)
	args := isUTF8.GetCallExpr().GetArgs()
	args[len(args)-1].GetConstExpr().ConstantKind = &celexpr.Constant_StringValue{StringValue: `(?s)^.*$`}
	e.ExprKind = celCall("_?_:_", isUTF8, matches, celCall("_/_", celNumber(1), celNumber(0))).GetExprKind()
}

// celParts are the parts of an expression that resolvers accept.
func celParts(e *celexpr.Expr) []*celexpr.Expr {
	switch kind := e.GetExprKind().(type) {
	case *celexpr.Expr_CallExpr:
		return append(slices.Clone(kind.CallExpr.GetArgs()), kind.CallExpr.GetTarget())
	case *celexpr.Expr_SelectExpr:
		return []*celexpr.Expr{kind.SelectExpr.GetOperand()}
	case *celexpr.Expr_ListExpr:
		return kind.ListExpr.GetElements()
	case *celexpr.Expr_StructExpr:
		var parts []*celexpr.Expr
		for _, entry := range kind.StructExpr.GetEntries() {
			parts = append(parts, entry.GetMapKey(), entry.GetValue())
		}
		return parts
	default:
		return nil
	}
}

// matchesAnyCharacter says whether a regular expression has a part that stands for characters outside ASCII.
func matchesAnyCharacter(regex string) bool {
	parsed, err := syntax.Parse(regex, syntax.Perl)
	return err != nil || hasAnyCharacter(parsed)
}

func hasAnyCharacter(e *syntax.Regexp) bool {
	switch e.Op { //nolint:exhaustive // all others have parts, or characters of ASCII
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		return len(e.Rune) > 0 && e.Rune[len(e.Rune)-1] == unicode.MaxRune
	}
	return slices.ContainsFunc(e.Sub, hasAnyCharacter)
}

func celMatch(e *celexpr.Expr) *predicate {
	return single(&xdsmatcherv3.HttpAttributesCelMatchInput{}, custom("cel", &xdsmatcherv3.CelMatcher{
		ExprMatch: &xdstypev3.CelExpression{CelExprParsed: &celexpr.ParsedExpr{Expr: e}},
	}))
}
