package main

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMain makes this binary a helper too.
func TestMain(m *testing.M) {
	if done, err := help(); done {
		exitOn(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// soon is longer than any change takes.
const soon = time.Minute

func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatalf("%s was not handed to the proxies", what)
	}
}

func TestAChangeTouchesWhatItIsAboutAndNothingElse(t *testing.T) {
	t.Parallel()
	s := scaled(500)
	s.Gateways = 5
	p := newPlane(s, 0)
	s.each(p.pipeline.Put)
	p.start()
	p.run()
	defer p.stop()

	before := p.counted()
	p.pipeline.Put(s.route(17, 1))
	await(t, p.applied, "an edited route")
	after := p.counted()
	if got := after.minus(before); got != (counts{resources: 1, gateways: 1}) {
		t.Errorf("one edited route of %d changed %+v, want one resource of one Gateway", s.Routes, got)
	}
	p.pipeline.Put(s.slice(3, 1))
	await(t, p.endpoints, "a changed slice")
	if got := p.counted().minus(after); got != (counts{assignments: 1}) {
		t.Errorf("one changed slice of %d changed %+v, want one assignment", s.Services, got)
	}
}

func TestAllProxiesAcknowledgeAChange(t *testing.T) {
	t.Parallel()
	for _, gateways := range []int{1, 5} {
		t.Run(fmt.Sprintf("of %d Gateways", gateways), func(t *testing.T) {
			t.Parallel()
			s := scaled(100)
			s.Gateways = gateways
			f, err := measureStreams(t.Context(), s, 20)
			if err != nil {
				t.Fatal(err)
			}
			if f.Typical <= 0 || f.Slowest < f.Typical {
				t.Errorf("a change took %s, the slowest one %s", f.Typical, f.Slowest)
			}
		})
	}
}
