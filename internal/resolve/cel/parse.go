package cel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
)

const (
	// MaxLength is how long an expression may be, and maxNodes how many parts it may have: it is evaluated for each request.
	MaxLength = 1024
	maxNodes  = 200
	// maxNesting is how deeply messages may be nested in it, of which a level has two. Envoy reads 100 of them, which is with what is around
	// an expression.
	maxNesting = 80
	// maxRegex is how many instructions a regular expression in it may compile to. Envoy accepts 100.
	maxRegex = 90
	// maxMatches is how often an expression may compare a text with a regular expression, and maxPolicyMatches how often those of one policy
	// may. A text may have 60 kB, which takes Envoy about a tenth of a second with the slowest of these expressions.
	maxMatches       = 4
	maxPolicyMatches = 16
)

// Budget is what the expressions of one policy take together.
type Budget struct {
	// Regexes are the regular expressions of the policy, those in its expressions among them.
	Regexes *expression.Budget
	// matches is how many of them are in its expressions.
	matches int
}

// attributes are what Envoy knows of a request before it is forwarded. One without fields is a map with keys of its own.
var attributes = map[string][]string{
	"request": {
		"headers", "host", "id", "method", "path", "protocol", "query", "referer", "scheme", "time", "url_path", "useragent",
	},
	"source":      {"address", "port"},
	"destination": {"address", "port"},
	"connection": {
		"dns_san_peer_certificate", "mtls", "requested_server_name", "sha256_peer_certificate_digest", "subject_peer_certificate",
		"tls_version", "uri_san_peer_certificate",
	},
	"metadata": nil,
}

// functions are those that Envoy evaluates. Macros that loop are not among them, nor what makes texts longer.
var functions = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.In, operators.Index, operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo,
	operators.Negate, "contains", "endsWith", matchesFunction, "size", "startsWith",
}

const matchesFunction = "matches"

var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{cel.ClearMacros(), cel.Macros(cel.HasMacro)}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		options = append(options, cel.Variable(name, cel.MapType(cel.StringType, cel.DynType)))
	}
	return cel.NewEnv(options...)
})

// Parse reads an expression that is true or false for a request. It says why a proxy would not evaluate it.
func Parse(text string, budget *Budget) (*ir.CEL, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("it has %d characters; use at most %d", len(text), MaxLength)
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("prepare to read expressions: %w", err)
	}
	compiled, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("it cannot be read: %s", oneLine(issues.Err()))
	}
	if kind := compiled.OutputType(); !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives a value of type %s; compare it, so that it is true or false", kind)
	}
	if err := check(compiled, budget); err != nil {
		return nil, err
	}
	parsed, err := cel.AstToParsedExpr(compiled)
	if err != nil {
		return nil, fmt.Errorf("it cannot be sent to proxies: %w", err)
	}
	if nesting(parsed.GetExpr().ProtoReflect()) > maxNesting {
		return nil, errors.New("it is nested too deeply; nest at most 40 fields, sums, lists and parentheses, or use several rules")
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(parsed.GetExpr())
	if err != nil {
		return nil, fmt.Errorf("it cannot be sent to proxies: %w", err)
	}
	return &ir.CEL{Text: text, Expr: wire}, nil
}

// nesting is how deeply messages are nested in a message.
func nesting(m protoreflect.Message) int {
	deepest := 0
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				deepest = max(deepest, nesting(value.List().Get(i).Message()))
			}
		default:
			deepest = max(deepest, nesting(value.Message()))
		}
		return true
	})
	return 1 + deepest
}

// oneLine is an error without the lines that point at its place.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "ERROR: ")
}

// check walks through an expression.
func check(compiled *cel.Ast, budget *Budget) error {
	var problems []error
	nodes, before := 0, budget.matches
	ast.PreOrderVisit(ast.NavigateAST(compiled.NativeRep()), ast.NewExprVisitor(func(e ast.Expr) {
		nodes++
		switch e.Kind() {
		case ast.CallKind:
			problems = append(problems, checkCall(e.AsCall(), budget), checkSum(compiled.NativeRep(), e.AsCall()))
		case ast.SelectKind:
			problems = append(problems, checkField(e.AsSelect()))
		case ast.ComprehensionKind, ast.StructKind:
			problems = append(problems, errors.New("it has a loop or an object, which Envoy does not evaluate"))
		default:
		}
	}))
	if nodes > maxNodes {
		return fmt.Errorf("it has %d parts; use at most %d", nodes, maxNodes)
	}
	if matches := budget.matches - before; matches > maxMatches {
		return fmt.Errorf("it uses matches %d times; use it at most %d times: %s", matches, maxMatches, instead)
	}
	if budget.matches > maxPolicyMatches {
		return fmt.Errorf("the expressions of the policy use matches more than %d times; %s", maxPolicyMatches, instead)
	}
	for _, problem := range problems {
		if problem != nil {
			return problem
		}
	}
	return nil
}

// instead is what to do about too many regular expressions.
const instead = "join alternatives in one with |, or use startsWith, endsWith, contains or operation.path"

func checkCall(call ast.CallExpr, budget *Budget) error {
	name := call.FunctionName()
	if !slices.Contains(functions, name) {
		return fmt.Errorf("function %s is not served; use comparisons, &&, ||, !, in, contains, startsWith, endsWith, matches and size", name)
	}
	if name != matchesFunction {
		return nil
	}
	args := call.Args()
	last := args[len(args)-1]
	if last.Kind() != ast.LiteralKind {
		return errors.New("matches needs a text between quotes")
	}
	pattern, _ := last.AsLiteral().Value().(string)
	if budget.matches++; budget.matches > maxPolicyMatches {
		return nil // which is an error of the whole expression
	}
	if err := budget.Regexes.Take(pattern); err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	if err := checkRegex(pattern); err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	return nil
}

// checkSum allows sums of numbers. Envoy does not join texts or lists.
func checkSum(types *ast.AST, call ast.CallExpr) error {
	if call.FunctionName() != operators.Add {
		return nil
	}
	for _, operand := range call.Args() {
		switch types.GetType(operand.ID()).Kind() {
		case cel.IntKind, cel.UintKind, cel.DoubleKind, cel.DurationKind:
			return nil
		default:
		}
	}
	return errors.New("it adds what may be texts or lists, which Envoy does not join; add numbers, or compare each alone")
}

// checkField knows the fields of attributes, so that a wrong one is not an error of each request.
func checkField(field ast.SelectExpr) error {
	if field.Operand().Kind() != ast.IdentKind {
		return nil
	}
	name := field.Operand().AsIdent()
	if known := attributes[name]; known != nil && !slices.Contains(known, field.FieldName()) {
		return fmt.Errorf("%s.%s is not known of a request; use one of %s", name, field.FieldName(), strings.Join(known, ", "))
	}
	return nil
}
