package app

import (
	"testing"
	"time"
)

func TestAReplicaIsAliveAsLongAsItHandsOutChanges(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]bool{0: true, 2 * time.Minute: true, maxAge + time.Second: false, time.Hour: false} {
		if err := alive(age); (err == nil) != want {
			t.Errorf("after %s: %v", age, err)
		}
	}
}
