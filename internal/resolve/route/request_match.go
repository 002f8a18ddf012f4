package route

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
)

// requestMatch is one match of either kind, with what a rule that cannot be served needs to know of it.
type requestMatch struct {
	ir.Match
	// segments are the expressions for service and method that the path of a GRPCRoute consists of, if they are expressions.
	segments []string
	// unknown says which of its types is not known here, empty if all are. Every request meets a condition of such a type.
	unknown string
	// anyPath says that the type of the path is among these, so that nothing says which paths are meant.
	anyPath bool
	// ambiguous says why it is not known which path is meant, empty if it is.
	ambiguous string
	// names are those of its conditions that are not known, by which a later one of the same name is found.
	names []string
}

// exactOrExpression says which types can be used.
const exactOrExpression = "use Exact or RegularExpression"

// typeOf is the type of a match, empty for the default.
func typeOf[T ~string](kind *T) string {
	if kind == nil {
		return ""
	}
	return string(*kind)
}

// notKnown records a type that a newer definition has. To take it for another one would serve requests that are not meant.
func (m *requestMatch) notKnown(field, kind, use string) {
	m.unknown = cmp.Or(m.unknown, fmt.Sprintf("match on %s: type %q is not known; %s", field, kind, use))
}

func (m *requestMatch) addHeader(name, kind, value string) {
	m.add(&m.Headers, "header "+name, name, kind, value)
}

func (m *requestMatch) addParameter(name, kind, value string) {
	m.add(&m.Query, "query parameter "+name, name, kind, value)
}

// add adds a condition unless the name is there already: the standard has the first entry of a name win.
func (m *requestMatch) add(list *[]ir.NamedMatch, field, name, kind, value string) {
	if slices.ContainsFunc(*list, func(n ir.NamedMatch) bool { return n.Name == name }) || slices.Contains(m.names, field) {
		return
	}
	condition := ir.NamedMatch{Name: name, StringMatch: ir.StringMatch{Kind: ir.Exact, Value: value}}
	switch kind {
	case "", "Exact":
	case "RegularExpression":
		condition.Kind = ir.Regex
	default:
		m.names = append(m.names, field)
		m.notKnown(field, kind, exactOrExpression)
		// Even a header that is not there may be meant. The condition counts for the place of the match.
		m.Headers = append(m.Headers, always)
		return
	}
	*list = append(*list, condition)
}
