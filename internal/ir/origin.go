package ir

import "cmp"

// Origin is an object beside a route or a backend that a setting comes from.
type Origin struct {
	// Setting is the name of the setting that a policy decides, empty for what is no setting of a policy.
	Setting string
	Object  ObjectRef
	// Overrides says that no more specific policy can change the setting.
	Overrides bool `json:",omitempty"`
}

// Compare orders origins by object, then by setting.
func (o Origin) Compare(other Origin) int {
	return cmp.Or(o.Object.Compare(other.Object), cmp.Compare(o.Setting, other.Setting))
}
