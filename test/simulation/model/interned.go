package model

import (
	"runtime"
	"sync"
	"weak"
)

// interned holds one value for each key for as long as something uses the value.
type interned[T any] struct{ byKey sync.Map }

// get returns the value of a key, and makes it if there is none.
func (i *interned[T]) get(key string, value func() *T) *T {
	fresh := (*T)(nil)
	for {
		if held, ok := i.byKey.Load(key); ok {
			pointer, _ := held.(weak.Pointer[T])
			if known := pointer.Value(); known != nil {
				return known
			}
			i.byKey.CompareAndDelete(key, held)
		}
		if fresh == nil {
			fresh = value()
			pointer := weak.Make(fresh)
			runtime.AddCleanup(fresh, func(key string) { i.byKey.CompareAndDelete(key, pointer) }, key)
		}
		if _, taken := i.byKey.LoadOrStore(key, weak.Make(fresh)); !taken {
			return fresh
		}
	}
}
