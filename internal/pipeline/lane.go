package pipeline

import (
	"context"
	"time"

	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
)

// lane is a loop of its own over a part of the objects: take what changed, bring the tables up to date, hand out the differences.
type lane struct {
	name    string
	inbox   *inbox
	objects *store.Objects
	graph   *memo.Graph
	// publish hands out what changed in the tables since it was last called.
	publish func()
	metrics *metrics
}

// step does one round and says what was computed.
func (l *lane) step() memo.Report {
	start := time.Now()
	for _, c := range l.inbox.take() {
		l.objects.Apply(c)
	}
	report := l.graph.Run()
	l.publish()
	l.metrics.observe(l.name, report, time.Since(start))
	return report
}

func (l *lane) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.inbox.wake:
			l.step()
		}
	}
}
