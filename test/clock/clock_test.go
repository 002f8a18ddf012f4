package clock

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestStolenIsReadOfEachCore(t *testing.T) {
	t.Parallel()
	for statistics, want := range map[string][]time.Duration{
		"cpu  1 2 3 4 5 6 7 300 9\ncpu0 1 2 3 4 5 6 7 100 9\ncpu1 1 2 3 4 5 6 7 200 9\nintr 1 2 3 4 5 6 7 8 9": {time.Second, 2 * time.Second},
		"cpu0 1 2 3 4\ncpu1 1 2 3 4 5 6 7 many 9\n":                                                            {0, 0},
		"": nil,
	} {
		if got := stolenOf(statistics); !slices.Equal(got, want) {
			t.Errorf("%q: %s, want %s", statistics, got, want)
		}
	}
}

func TestStolenTimeIsNotMeasured(t *testing.T) {
	t.Parallel()
	// As if the first core had been away for the last 400 ms.
	start, began := Now(), time.Now()
	start.wall = start.wall.Add(-500 * time.Millisecond)
	start.stolen[0] -= 400 * time.Millisecond
	if got, most := Since(start), 100*time.Millisecond+time.Since(began); got > most {
		t.Errorf("%s, want at most %s", got, most)
	}
	start.stolen[0] -= time.Hour
	if got := Since(start); got != 0 {
		t.Errorf("%s, want 0: no time is negative", got)
	}
	if !WasStolen(start) {
		t.Error("no core was stolen")
	}
}

func TestATimeoutEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if got := context.Cause(ctx).Error(); got != "no end after 50ms" {
		t.Error(got)
	}
	ctx, cancel = WithTimeout(t.Context(), time.Hour)
	cancel()
	if ctx.Err() == nil {
		t.Error("a context that was cancelled is open")
	}
}
