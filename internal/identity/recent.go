package identity

import (
	"container/list"
	"time"
)

// answer is what was said of a token, and when.
type answer struct {
	review  Review
	at      time.Time
	expires time.Time
}

// recent holds the answers that were used last, and no more than its limit.
type recent struct {
	limit int
	order *list.List // of entry, the one used last in front
	by    map[key]*list.Element
}

type entry struct {
	key    key
	answer answer
}

func newRecent(limit int) *recent {
	return &recent{limit: limit, order: list.New(), by: map[key]*list.Element{}}
}

func (r *recent) get(k key) (answer, bool) {
	element, ok := r.by[k]
	if !ok {
		return answer{}, false
	}
	r.order.MoveToFront(element)
	return element.Value.(entry).answer, true //nolint:forcetypeassert,errcheck // the list holds nothing else
}

func (r *recent) put(k key, a answer) {
	r.remove(k)
	r.by[k] = r.order.PushFront(entry{key: k, answer: a})
	if r.order.Len() > r.limit {
		r.remove(r.order.Back().Value.(entry).key) //nolint:forcetypeassert,errcheck // the list holds nothing else
	}
}

func (r *recent) remove(k key) {
	if element, ok := r.by[k]; ok {
		r.order.Remove(element)
		delete(r.by, k)
	}
}
