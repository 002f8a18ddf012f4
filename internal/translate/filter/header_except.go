package filter

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// headerExcept is a regular expression for the name of any header but these, and but the pseudo headers of HTTP/2. Envoy's lists of
// matchers have no negation, and RE2 has none either, so it is spelled out letter by letter.
func headerExcept(names []string) string {
	tree := letters{next: map[byte]*letters{':': nil}}
	for _, name := range names {
		tree.add(name)
	}
	return tree.except()
}

// letters is a tree of words.
type letters struct {
	// next is nil for a letter that nothing may begin with.
	next map[byte]*letters
	word bool
}

func (l *letters) add(word string) {
	if word == "" {
		l.word = true
		return
	}
	if l.next == nil {
		l.next = map[byte]*letters{}
	}
	child, ok := l.next[word[0]]
	if !ok {
		child = &letters{}
		l.next[word[0]] = child
	}
	child.add(word[1:])
}

// except matches whatever can follow so that none of the words comes out.
func (l *letters) except() string {
	begins := slices.Sorted(maps.Keys(l.next))
	var class strings.Builder
	var ways []string
	for _, b := range begins {
		class.WriteString(classMember(b))
		if l.next[b] != nil {
			ways = append(ways, regexp.QuoteMeta(string(b))+l.next[b].except())
		}
	}
	if class.Len() == 0 {
		ways = append(ways, ".+")
	} else {
		ways = append(ways, "[^"+class.String()+"].*")
	}
	if !l.word {
		ways = append(ways, "")
	}
	return "(?:" + strings.Join(ways, "|") + ")"
}

// classMember writes a letter inside brackets, where a hyphen would mean a range.
func classMember(b byte) string {
	if b == '-' {
		return `\-`
	}
	return regexp.QuoteMeta(string(b))
}
