package xds_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/xds"
)

// journal writes down what an Observer is told.
type journal chan string

func (j journal) Connected(group string)    { j <- "connected " + group }
func (j journal) Disconnected(group string) { j <- "disconnected " + group }
func (j journal) Acknowledged(group string, t xds.Type, versions map[string]string) {
	j <- fmt.Sprintf("acknowledged %s %s %v", group, t, slices.Sorted(maps.Keys(versions)))
}

func (j journal) Refused(group string, t xds.Type, versions map[string]string, reason string) {
	j <- fmt.Sprintf("refused %s %s %v %s", group, t, slices.Sorted(maps.Keys(versions)), reason)
}

func TestTheObserverLearnsOfAnswers(t *testing.T) {
	t.Parallel()
	j := make(journal, 100)
	c := start(t, options{observer: j})
	c.cache.Apply([]xds.Change{cluster(t, group, "c1", ""), cluster(t, group, "c2", "")})
	p := c.connect(group)
	p.subscribe(clusterURL)
	p.take()
	c.cache.Apply([]xds.Change{cluster(t, group, "c2", "bad")})
	p.refuse(p.receive(), "bad")
	p.subscribe(secretURL, "none")
	p.receive()
	p.hangUp()
	for _, want := range []string{
		"connected shop/web", "acknowledged shop/web cluster [c1 c2]", "refused shop/web cluster [c2] bad", "disconnected shop/web",
	} {
		select {
		case got := <-j:
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("no %q", want)
		}
	}
}
