package assertion

import "testing"

func TestTable(t *testing.T) {
	t.Log("the parent says something")
	t.Run("right", func(*testing.T) {})
	t.Run("wrong answer", func(t *testing.T) {
		t.Log("this is a note")
		t.Errorf("the answer is %d,\nnot %d", 41, 42)
	})
	t.Run("skipped", func(t *testing.T) { t.Skip("not here") })
}
