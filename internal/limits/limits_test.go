package limits_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/limits"
)

func TestWhoWasThereFirstStays(t *testing.T) {
	t.Parallel()
	items := []limits.Item{
		{Created: 3, Key: "young", Weight: 1},
		{Created: 1, Key: "old", Weight: 4},
		{Created: 2, Key: "b", Weight: 3},
		{Created: 2, Key: "a", Weight: 3},
	}
	if got := limits.Find(items, 11); got != (limits.Cutoff{}) || got.Excludes(9, "z") {
		t.Errorf("there is room for all, and the cutoff is %+v", got)
	}
	got := limits.Find(items, 9)
	for key, excluded := range map[string]bool{"old": false, "a": false, "b": true, "young": true} {
		created := map[string]int64{"old": 1, "a": 2, "b": 2, "young": 3}[key]
		if got.Excludes(created, key) != excluded {
			t.Errorf("%s is excluded: %v; cutoff %+v", key, !excluded, got)
		}
	}
	if got.Limit != 9 {
		t.Errorf("cutoff says %+v", got)
	}
}

func TestLimitsAreSetByName(t *testing.T) {
	t.Parallel()
	l := limits.Defaults()
	if err := l.Set(map[string]int{"routes": 7, "hostRules": 8}); err != nil || l.Routes != 7 || l.HostRules != 8 {
		t.Errorf("limits are %+v, %v", l, err)
	}
	for name, value := range map[string]int{"rotues": 7, "routes": 0} {
		if err := l.Set(map[string]int{name: value}); err == nil {
			t.Errorf("%s=%d is taken", name, value)
		}
	}
}
