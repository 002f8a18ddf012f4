package watch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// inList stands in a path behind the name of a list, before a field of its elements.
const inList = "[]."

// withoutLists are the paths of whole fields.
func withoutLists(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return strings.Contains(path, inList) })
}

// kept are the fields of an object, by [store.Descriptor.KeptUnreadable], nil for none.
func kept(paths []string, object json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if len(paths) == 0 || json.Unmarshal(object, &all) != nil {
		return nil
	}
	left := map[string]json.RawMessage{}
	inside := map[string][]string{}
	for _, path := range paths {
		if list, field, ok := strings.Cut(path, inList); ok {
			inside[list] = append(inside[list], field)
		} else if value, ok := all[path]; ok {
			left[path] = value
		}
	}
	for list, fields := range inside {
		var elements []json.RawMessage
		switch value, ok := all[list]; {
		case !ok:
			continue
		case json.Unmarshal(value, &elements) != nil:
			// What is in it is not known, which is not the same as nothing.
			left[list] = value
			continue
		}
		for i, element := range elements {
			elements[i] = kept(fields, element)
		}
		left[list], _ = json.Marshal(elements)
	}
	rest, _ := json.Marshal(left)
	return rest
}

// withoutFields is an object without the fields of its spec that cannot be read, which are marked as if they were not known. It is for
// kinds that know what to make of such fields.
func (g *Guard) withoutFields(kind watched, fields map[string]json.RawMessage) (json.RawMessage, bool) {
	var spec map[string]json.RawMessage
	if !kind.MarkUnknown || kind.PassUnreadable || json.Unmarshal(fields["spec"], &spec) != nil {
		return nil, false
	}
	with := func(spec map[string]json.RawMessage) json.RawMessage {
		copied := maps.Clone(fields)
		copied["spec"], _ = json.Marshal(spec)
		object, _ := json.Marshal(copied)
		return object
	}
	var unread []string
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if _, err := g.read(kind, with(map[string]json.RawMessage{name: spec[name]})); err != nil {
			unread = append(unread, "spec."+name)
			delete(spec, name)
		}
	}
	rest := with(spec)
	unknown, err := g.read(kind, rest)
	if err != nil {
		return nil, false
	}
	return g.marked(kind, rest, append(unread, unknown...)), true
}
