package xds

import (
	"strings"
)

// partTree is a sorted map from name to Resource that is never changed in place: with and without return a new tree that shares all but
// O(log n) nodes with the old one. So a tree is a snapshot, which can be read in order without a lock and without sorting. The nil tree
// is empty.
//
// It is a treap. The priorities come from the names, so the shape does not depend on the order of changes.
type partTree struct {
	name        string
	priority    uint64
	part        *Resource
	left, right *partTree
}

func (t *partTree) get(name string) *Resource {
	for t != nil {
		switch order := strings.Compare(name, t.name); {
		case order < 0:
			t = t.left
		case order > 0:
			t = t.right
		default:
			return t.part
		}
	}
	return nil
}

func (t *partTree) with(name string, priority uint64, part *Resource) *partTree {
	if t == nil {
		return &partTree{name: name, priority: priority, part: part}
	}
	next := *t
	switch order := strings.Compare(name, t.name); {
	case order < 0:
		child := t.left.with(name, priority, part)
		next.left = child
		if child.priority > next.priority {
			// The child is a fresh copy, so it can be turned in place.
			next.left, child.right = child.right, &next
			return child
		}
	case order > 0:
		child := t.right.with(name, priority, part)
		next.right = child
		if child.priority > next.priority {
			next.right, child.left = child.left, &next
			return child
		}
	default:
		next.part = part
	}
	return &next
}

// put sets a part, or removes it if it is nil.
func (t *partTree) put(name string, part *Resource) *partTree {
	if part == nil {
		return t.without(name)
	}
	return t.with(name, priorityOf(name), part)
}

func (t *partTree) without(name string) *partTree {
	if t == nil {
		return nil
	}
	next := *t
	switch order := strings.Compare(name, t.name); {
	case order < 0:
		next.left = t.left.without(name)
	case order > 0:
		next.right = t.right.without(name)
	default:
		return join(t.left, t.right)
	}
	return &next
}

// join makes one tree of two where every name of the first is before every name of the second.
func join(a, b *partTree) *partTree {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		next := *a
		next.right = join(a.right, b)
		return &next
	default:
		next := *b
		next.left = join(a, b.left)
		return &next
	}
}

// each visits the parts in the order of their names.
func (t *partTree) each(visit func(*Resource)) {
	if t == nil {
		return
	}
	t.left.each(visit)
	visit(t.part)
	t.right.each(visit)
}

// changed visits the parts, in the order of their names, that another tree lacks or has in another version.
func (t *partTree) changed(other *partTree, visit func(name string, part *Resource)) {
	if t == nil {
		return
	}
	t.left.changed(other, visit)
	if !sameVersion(t.part, other.get(t.name)) {
		visit(t.name, t.part)
	}
	t.right.changed(other, visit)
}
