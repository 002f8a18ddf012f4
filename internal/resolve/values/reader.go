package values

import (
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/store"
)

// Reader reads values. It collects what cannot be served.
type Reader struct {
	Expressions expression.Budget
	Problems    []string
}

// NewReader returns a Reader that has found nothing yet.
func NewReader(objects *store.Objects) Reader {
	return Reader{Expressions: expression.Budget{Limits: objects.Limits}}
}

// Fail adds a problem.
func (r *Reader) Fail(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Accept says whether there is no problem, and adds one that there is.
func (r *Reader) Accept(problem string) bool {
	if problem != "" {
		r.Problems = append(r.Problems, problem)
	}
	return problem == ""
}

// Duration reads a duration of the Gateway API. The API server has checked its form.
func (r *Reader) Duration(field string, d *gwv1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	parsed, err := time.ParseDuration(string(*d))
	if err != nil || parsed < 0 {
		r.Fail("%s %q is not a duration; write it like 10s", field, *d)
		return nil
	}
	return &parsed
}

// AtLeast reads a duration that must not be shorter than another one.
func (r *Reader) AtLeast(field string, d *gwv1.Duration, shortest time.Duration) *time.Duration {
	parsed := r.Duration(field, d)
	if parsed != nil && *parsed < shortest {
		r.Fail("%s %q is shorter than %s; use a longer one", field, *d, shortest)
		return nil
	}
	return parsed
}

// Seconds reads a duration that the kernel counts in seconds, and takes up to 32767 of.
func (r *Reader) Seconds(field string, d *gwv1.Duration) time.Duration {
	parsed := Or(r.Duration(field, d))
	if d != nil && (parsed%time.Second != 0 || parsed < time.Second || parsed > longestKeepalive) {
		r.Fail("%s %q is not a number of whole seconds from 1s to %ds; write it like 10s", field, *d, longestKeepalive/time.Second)
		return 0
	}
	return parsed
}

const longestKeepalive = 32767 * time.Second

// Bytes reads a size within bounds; nothing is zero.
func (r *Reader) Bytes(field string, q *resource.Quantity, smallest, largest int64) uint32 {
	if q == nil {
		return 0
	}
	size := q.Value()
	if size < smallest || size > largest {
		r.Fail("%s %s is not from %d to %d bytes", field, q, smallest, largest)
		return 0
	}
	return uint32(size) //nolint:gosec // it is within bounds
}

// Matches reads matches of strings. Those that proxies would refuse are left out.
func (r *Reader) Matches(field string, matches []v1alpha1.StringMatch) []ir.StringMatch {
	var list []ir.StringMatch
	for i, m := range matches {
		if match, ok := r.Match(fmt.Sprintf("%s[%d]", field, i), m); ok {
			list = append(list, match)
		}
	}
	return list
}

// Match is false for an expression that proxies would refuse, and for a type that is not known.
func (r *Reader) Match(field string, m v1alpha1.StringMatch) (ir.StringMatch, bool) {
	if kind := Or(m.Type); m.Value == "" && kind != "" && kind != v1alpha1.StringMatchExact {
		r.Fail("%s: a value of type %s is not empty; set one, or use type Exact", field, kind)
		return ir.StringMatch{}, false
	}
	switch Or(m.Type) {
	case v1alpha1.StringMatchPrefix:
		return ir.StringMatch{Kind: ir.Prefix, Value: m.Value}, true
	case v1alpha1.StringMatchSuffix:
		return ir.StringMatch{Kind: ir.Suffix, Value: m.Value}, true
	case v1alpha1.StringMatchRegularExpression:
		if err := r.Expressions.Take(m.Value); err != nil {
			r.Fail("%s: %v", field, err)
			return ir.StringMatch{}, false
		}
		return ir.StringMatch{Kind: ir.Regex, Value: m.Value}, true
	case "", v1alpha1.StringMatchExact:
		return ir.StringMatch{Kind: ir.Exact, Value: m.Value}, true
	default:
		// A newer definition has it. To take it for another type would match what is not meant.
		r.Fail("%s: type %q is not known; use Exact, Prefix, Suffix or RegularExpression", field, *m.Type)
		return ir.StringMatch{}, false
	}
}

// CIDR reads a range of addresses. One that cannot be read is false.
func (r *Reader) CIDR(field, text string) (string, bool) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		r.Fail("%s: %q is not a range of IP addresses; write it like 10.0.0.0/8", field, text)
		return "", false
	}
	return prefix.Masked().String(), true
}

// IsTrue says whether a field is there and true.
func IsTrue(b *bool) bool { return b != nil && *b }

// Is says whether a field is there and has a value.
func Is[T comparable](p *T, wanted T) bool { return p != nil && *p == wanted }

// Or is the value of a field, zero where it is not there.
func Or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Unsigned reads a number that the API server allows no sign for.
func Unsigned(p *int32) uint32 { return uint32(max(0, Or(p))) }
