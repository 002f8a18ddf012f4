package route

import (
	"cmp"
	"math"

	"github.com/gatewright/gatewright/internal/ir"
)

// rank is what the standard compares when several matches fit a request: a greater value comes first.
type rank struct {
	// kind is exact, then prefix, then regular expression. The prefix `/` comes last of all, or no regular expression beside it
	// could ever match: the standard leaves the place of regular expressions to the implementation.
	kind   int
	length int
	method bool
	// preflight comes behind the methods that users name, so that a rule for OPTIONS gets what it names.
	preflight bool
	// headers counts conditions on cookies too.
	headers int
	query   int
}

const (
	// rankLast is for what closes the rest of a hostname.
	rankLast = iota - 1
	rankRoot
	rankRegex
	rankPrefix
	rankExact
)

// placedMatch is a match with the place of its rule, which can be that of another match.
type placedMatch struct {
	ir.Match
	place rank
}

// first is before every rank of the same path and method.
func (r rank) first() rank {
	r.headers = math.MaxInt
	return r
}

// at is the rule in a place that is not the one of its match.
func (r Rule) at(place rank) Rule {
	r.rank, r.Place = place, nil
	if place != rankOf(r.Match) {
		r.Place = &Place{place.kind, place.length, place.method, place.preflight, place.headers, place.query}
	}
	return r
}

// Place is a rank that another replica can read.
type Place struct {
	Kind, Length      int
	Method, Preflight bool
	Headers, Query    int
}

// placed is the rule with the rank of its place, or of its match.
func (r Rule) placed() Rule {
	r.rank = rankOf(r.Match)
	if p := r.Place; p != nil {
		r.rank = rank{p.Kind, p.Length, p.Method, p.Preflight, p.Headers, p.Query}
	}
	return r
}

func rankOf(m ir.Match) rank {
	r := rank{
		length: len(m.Path.Value), method: m.Method != "", preflight: m.Preflight,
		headers: len(m.Headers) + len(m.Cookies.All()), query: len(m.Query),
	}
	switch {
	case m.Path.Kind == ir.Exact:
		r.kind = rankExact
	case m.Path.Kind == ir.Regex:
		r.kind = rankRegex
	case m.Path.Value == "/":
		r.kind = rankRoot
	default:
		r.kind = rankPrefix
	}
	return r
}

// compare orders ranks, the one to be tried first first.
func (r rank) compare(other rank) int {
	return cmp.Or(
		cmp.Compare(other.kind, r.kind),
		cmp.Compare(other.length, r.length),
		compareBool(other.method, r.method),
		compareBool(r.preflight, other.preflight),
		cmp.Compare(other.headers, r.headers),
		cmp.Compare(other.query, r.query),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
