package xds

import "strings"

// GroupID identifies a group: that of a Gateway by the namespace and name of the Gateway, that of a shared fleet by the name of its class
// alone. It has the fields of ir.Name, so that one can be converted to the other. The zero value stands for none.
type GroupID struct {
	Namespace, Name string
}

// IsZero reports whether there is no group.
func (g GroupID) IsZero() bool { return g == GroupID{} }

// String is the node cluster of the group's proxies: `<namespace>/<name>`, or `/<class>`. That of the zero value is empty.
func (g GroupID) String() string {
	if g.IsZero() {
		return ""
	}
	return g.Namespace + "/" + g.Name
}

// ParseGroupID is the inverse of [GroupID.String]. It reports whether the text is one that String returns.
func ParseGroupID(text string) (GroupID, bool) {
	if text == "" {
		return GroupID{}, true
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return GroupID{}, false
	}
	return GroupID{Namespace: namespace, Name: name}, true
}
