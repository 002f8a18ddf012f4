package route

import (
	"maps"
	"slices"
	"strings"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	// minTree is the number of routes from which on a tree is faster than a list.
	minTree = 64
	// maxCopies bounds how often a tree may have each route, on average.
	maxCopies = 4
	// copyUnit is how many bytes of a route count as one copy: a few large routes must not make a tree many times as large as a list.
	copyUnit = 512
)

// tree finds the routes for a path without going through all of them, which is what Envoy does with a list. It only narrows down: under
// each key is, in their order, every route that can match a path which leads there, with its whole match; so whatever the order says of
// two routes holds in the tree too. It is nil if a list does as well.
//
// Envoy looks for the whole path with its query among exact keys, then for the longest key that it begins with. Every path that a route
// can match begins with the route's literal, and literals are keys; so under a key belong the routes whose literals the key begins with,
// and those that have none.
func tree(routes []*routev3.Route) *xdsmatcherv3.Matcher {
	if len(routes) < minTree {
		return nil
	}
	f := forest{patterns: make([]pattern, len(routes)), byLiteral: map[string][]int{}}
	for i, r := range routes {
		f.add(i, patternOf(r.GetMatch()), 1+proto.Size(r)/copyUnit)
	}
	whole, beginnings, ok := f.keys()
	if !ok || len(beginnings) == 0 {
		return nil
	}
	pick := func(places []int) *xdsmatcherv3.Matcher_OnMatch {
		list := &routev3.RouteList{}
		for _, place := range places {
			list.Routes = append(list.Routes, routes[place])
		}
		return wire.Action("routes", list)
	}
	byBeginning := &xdsmatcherv3.Matcher{
		MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
			Input:    wholePath,
			TreeType: &xdsmatcherv3.Matcher_MatcherTree_PrefixMatchMap{PrefixMatchMap: matchMap(beginnings, pick)},
		}},
		OnNoMatch: pick(f.anywhere),
	}
	if len(whole) == 0 {
		return byBeginning
	}
	return &xdsmatcherv3.Matcher{
		MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
			Input:    wholePath,
			TreeType: &xdsmatcherv3.Matcher_MatcherTree_ExactMatchMap{ExactMatchMap: matchMap(whole, pick)},
		}},
		OnNoMatch: &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Matcher{Matcher: byBeginning}},
	}
}

// wholePath is the path with its query.
var wholePath = wire.Extension("path", &matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":path"})

func matchMap(keys map[string][]int, pick func([]int) *xdsmatcherv3.Matcher_OnMatch) *xdsmatcherv3.Matcher_MatcherTree_MatchMap {
	m := &xdsmatcherv3.Matcher_MatcherTree_MatchMap{Map: make(map[string]*xdsmatcherv3.Matcher_OnMatch, len(keys))}
	for key, places := range keys {
		m.Map[key] = pick(places)
	}
	return m
}

// pattern is what a route's match says about the path.
type pattern struct {
	shape shape
	// literal is what every path that matches begins with; empty if there is no such thing.
	literal string
	// certain says that nothing but the path counts.
	certain bool
	// weight is how much a copy of the route counts.
	weight int
}

type shape uint8

const (
	// anything may match any path: regular expressions, and what is not known.
	anything shape = iota
	// beginning matches whatever begins with the literal.
	beginning
	// segmented matches the literal, alone or with a slash after it.
	segmented
	// exactly matches the literal. Like the others it does not look at the query.
	exactly
)

func patternOf(m *routev3.RouteMatch) pattern {
	p := pattern{certain: len(m.GetHeaders()) == 0 && len(m.GetQueryParameters()) == 0 && len(m.GetCookies()) == 0 &&
		m.GetGrpc() == nil && m.GetRuntimeFraction() == nil}
	switch path := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		p.shape, p.literal = beginning, path.Prefix
	case *routev3.RouteMatch_PathSeparatedPrefix:
		p.shape, p.literal = segmented, path.PathSeparatedPrefix
	case *routev3.RouteMatch_Path:
		p.shape, p.literal = exactly, path.Path
	}
	if p.literal == "" || strings.ContainsAny(p.literal, "?#") {
		return pattern{}
	}
	return p
}

// matches says whether a path that begins with that key can match.
func (p pattern) matches(key string) bool {
	rest, ok := strings.CutPrefix(key, p.literal)
	if !ok || rest == "" || p.shape == beginning {
		return ok
	}
	return rest[0] == '?' || rest[0] == '/' && p.shape == segmented
}

// decides says whether every path that begins with that key does, so that no route after it counts.
func (p pattern) decides(key string) bool {
	return p.certain && p.shape != anything && p.matches(key) && (p.shape == beginning || key != p.literal)
}

// forest is the patterns of a virtual host's routes, each known by its place in their order.
type forest struct {
	patterns []pattern
	// byLiteral has those with a literal, anywhere the others.
	byLiteral map[string][]int
	anywhere  []int
	// weight is that of all routes, each once.
	weight int
}

func (f *forest) add(place int, p pattern, weight int) {
	p.weight = weight
	f.patterns[place], f.weight = p, f.weight+weight
	if p.shape == anything {
		f.anywhere = append(f.anywhere, place)
		return
	}
	f.byLiteral[p.literal] = append(f.byLiteral[p.literal], place)
}

// weigh is how much copies of these routes count.
func (f *forest) weigh(places []int) int {
	sum := 0
	for _, place := range places {
		sum += f.patterns[place].weight
	}
	return sum
}

// keys are whole paths and beginnings of paths, with the places of the routes that count for each. It is false if there are too many of
// them for a tree to be worth it.
func (f *forest) keys() (whole, beginnings map[string][]int, ok bool) {
	whole, beginnings = map[string][]int{}, map[string][]int{}
	copies, most := f.weigh(f.anywhere), f.weight+(maxCopies-1)*len(f.patterns)
	for literal, places := range f.byLiteral {
		together := f.under(literal)
		count, listed := f.weigh(together), len(together)
		if alone, after, fewer := f.apart(literal, places, count); fewer > 0 {
			whole[literal] = alone
			maps.Copy(beginnings, after)
			count -= fewer
			listed = len(alone)
			for _, list := range after {
				listed += len(list)
			}
		} else {
			beginnings[literal] = together
		}
		if copies += count; copies > most || listed > len(f.patterns)/2 {
			return nil, nil, false
		}
	}
	return whole, beginnings, true
}

// apart are the keys that can take the place of a literal: the literal alone as a whole path, and what may follow it in a path that the
// routes with that literal match. Under the literal itself there are also paths that merely begin like it, and so all the routes that
// match those. fewer is by how much that makes fewer copies of routes than there are under the literal; it is 0 if it does not, or is not
// possible since a route matches what merely begins like it.
func (f *forest) apart(literal string, places []int, together int) (alone []int, after map[string][]int, fewer int) {
	if together <= 2 {
		// At least the literal alone and before a query have a route each.
		return nil, nil, 0
	}
	after = map[string][]int{literal + "?": f.under(literal + "?")}
	for _, place := range places {
		switch f.patterns[place].shape {
		case beginning:
			return nil, nil, 0
		case segmented:
			after[literal+"/"] = f.under(literal + "/")
		case exactly, anything:
		}
	}
	alone = f.at(literal)
	count := f.weigh(alone)
	for _, list := range after {
		count += f.weigh(list)
	}
	return alone, after, max(together-count, 0)
}

// under are the routes for paths that begin with a key.
func (f *forest) under(key string) []int {
	return f.collect(key, func(p pattern) (matches, decides bool) { return p.matches(key), p.decides(key) })
}

// at are the routes for one path.
func (f *forest) at(path string) []int {
	return f.collect(path, func(p pattern) (matches, decides bool) {
		matches = p.matches(path)
		return matches, matches && p.certain
	})
}

// collect are the routes that count for a key, up to the first that leaves nothing to those after it.
func (f *forest) collect(key string, evaluate func(pattern) (matches, decides bool)) []int {
	var own, list []int
	for end := range len(key) {
		own = append(own, f.byLiteral[key[:end+1]]...)
	}
	slices.Sort(own)
	others := f.anywhere
	for _, place := range own {
		matches, decides := evaluate(f.patterns[place])
		if !matches {
			continue
		}
		before, _ := slices.BinarySearch(others, place)
		list = append(append(list, others[:before]...), place)
		others = others[before:]
		if decides {
			return list
		}
	}
	return append(list, others...)
}
