package store

import "fmt"

// View is what a computation reads through: it remembers every Ref that was asked for, found or not. A nil View records nothing.
type View struct {
	reads map[Ref]struct{}
	limit Space
}

// NewView returns a View that may read the spaces made before limit: a computation sees only the stages before its own.
func NewView(limit Space) *View { return &View{reads: map[Ref]struct{}{}, limit: limit} }

// Reads calls fn for each distinct Ref that was read.
func (v *View) Reads(fn func(Ref)) {
	for ref := range v.reads {
		fn(ref)
	}
}

// Len is the number of distinct Refs that were read.
func (v *View) Len() int { return len(v.reads) }

// Reset forgets all reads, so that a View can be used again. Clearing a map costs what it once held, so one that held much is not used
// again.
func (v *View) Reset() {
	if len(v.reads) > reusableReads {
		v.reads = map[Ref]struct{}{}
		return
	}
	clear(v.reads)
}

const reusableReads = 64

func (v *View) record(s *Store, ref Ref) {
	if v == nil {
		return
	}
	if ref.Space >= v.limit {
		panic(fmt.Sprintf("a stage read %s, which is computed after it", s.Name(ref.Space)))
	}
	v.reads[ref] = struct{}{}
}
