package main

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed testdata/fields.txt
var listed string

//go:embed notes.txt
var noted string

// The ways in which a field is covered.
const (
	same       = "the same field"
	other      = "another field"
	standard   = "a field of the standard"
	excluded   = "not supported"
	notYet     = "not served yet"
	headerText = "# Fields of Envoy Gateway's policies\n\n" +
		"Written by `make generate` from the Go types and `hack/parity/notes.txt`. It has each field of Envoy Gateway 1.9 and what\n" +
		"covers it in Gatewright. The same field has the same name and meaning; the API reference has the details.\n"
)

var ways = []string{same, other, standard, excluded, notYet}

// note says how a field is covered that is not found by its name.
type note struct{ way, text string }

// notes are by kind and path. A path that ends with `*` stands for all that begin so, and the kind `*` for all kinds.
func notes() (map[string]note, error) {
	all := map[string]note{}
	for i, line := range strings.Split(noted, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, rest, found := strings.Cut(line, ": ")
		way, text, complete := strings.Cut(rest, ", ")
		n := note{text: text}
		switch way {
		case "field":
			n.way = other
		case "standard":
			n.way = standard
		case "no":
			n.way = excluded
		case "later":
			n.way = notYet
		}
		if !found || !complete || n.way == "" {
			return nil, fmt.Errorf("notes.txt:%d: write `Kind path: field|standard|no|later, text`", i+1)
		}
		all[key] = n
	}
	return all, nil
}

// find is the note on a path: one with exactly that path, or else the longest that stands for it.
func find(all map[string]note, kind, path string) (note, string, bool) {
	longest := ""
	for key := range all {
		if standsFor(key, kind, path) && (longest == "" || better(key, longest)) {
			longest = key
		}
	}
	return all[longest], longest, longest != ""
}

// better is the one that stands for less.
func better(key, than string) bool {
	if open := strings.HasSuffix(key, "*"); open != strings.HasSuffix(than, "*") {
		return !open
	}
	return len(key) > len(than)
}

// standsFor reports whether a key is about a path: it is the path, begins it and ends with `*`, or ends it behind `* `.
func standsFor(key, kind, path string) bool {
	if end, anyKind := strings.CutPrefix(key, "* "); anyKind {
		return strings.HasSuffix(path, "."+end)
	}
	prefix, open := strings.CutSuffix(key, "*")
	return key == kind+" "+path || open && strings.HasPrefix(kind+" "+path, prefix)
}

// document is the text of the document. It fails on a note that names a field that does not exist, or that nothing needs.
func document() (string, error) {
	all, err := notes()
	if err != nil {
		return "", err
	}
	var body strings.Builder
	var problems []error
	kind, count, used := "", map[string]int{}, map[string]bool{}
	for line := range strings.SplitSeq(listed, "\n") {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			kind, _, _ = strings.Cut(heading, " ")
			fmt.Fprintf(&body, "\n## %s\n\n", title(kind))
			body.WriteString("| field | covered by |\n|---|---|\n")
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n, key, err := cover(all, kind, line)
		if err != nil {
			problems = append(problems, err)
		}
		used[key] = true
		count[n.way]++
		fmt.Fprintf(&body, "| `%s` | %s |\n", line, strings.TrimSuffix(n.way+": "+n.text, ": "))
	}
	for key := range all {
		if !used[key] {
			problems = append(problems, fmt.Errorf("notes.txt: nothing needs the note on %s; remove it", key))
		}
	}
	return headerText + "\n" + summary(count) + body.String(), errors.Join(problems...)
}

func title(kind string) string {
	if ours := ourName(kind); ours != kind {
		return fmt.Sprintf("%s (here %s)", kind, ours)
	}
	return kind
}

// cover says how a field is covered. The key is that of the note, if one says so.
func cover(all map[string]note, kind, path string) (note, string, error) {
	spec := specOf(ourName(kind))
	n, key, ok := find(all, kind, path)
	switch {
	case ok && n.way == other:
		text, err := otherField(ourName(kind), n.text)
		return note{n.way, text}, key, err
	case ok:
		return n, key, nil
	case spec != nil && has(spec, path):
		return note{way: same}, "", nil
	default:
		return note{way: notYet}, "", nil
	}
}

// otherField is a field of the same kind, or `Kind path` of another.
func otherField(kind, text string) (string, error) {
	owner, path, foreign := strings.Cut(text, " ")
	if !foreign {
		owner, path = kind, text
	}
	if spec := specOf(owner); spec == nil || !has(spec, path) {
		return "", fmt.Errorf("notes.txt: %s has no field %s", owner, path)
	}
	if foreign {
		return "`" + path + "` of a " + owner, nil
	}
	return "`" + path + "`", nil
}

func summary(count map[string]int) string {
	total := 0
	var b strings.Builder
	b.WriteString("| covered by | fields |\n|---|---|\n")
	for _, way := range ways {
		total += count[way]
		fmt.Fprintf(&b, "| %s | %d |\n", way, count[way])
	}
	fmt.Fprintf(&b, "| all | %d |\n", total)
	return b.String()
}
