package parallel

import (
	"testing"
	"time"
)

func TestHangs(t *testing.T) {
	t.Parallel()
	time.Sleep(time.Minute)
}

func TestTalks(t *testing.T) {
	t.Parallel()
	for {
		t.Log("still here")
		time.Sleep(100 * time.Millisecond)
	}
}
