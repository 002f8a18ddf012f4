package panics

import "testing"

func TestPasses(*testing.T) {}

func TestPanics(t *testing.T) {
	t.Run("inside", func(*testing.T) {
		var m map[string]int
		m["a"] = 1
	})
}
