package pipeline

import (
	"context"
	"time"

	"github.com/gatewright/gatewright/internal/memo"
)

// lane is a loop of its own over a part of the objects: take what changed, bring the tables up to date, hand out the differences.
type lane struct {
	name  string
	inbox *inbox
	// apply brings what came in into the objects.
	apply func(batch)
	graph *memo.Graph
	// publish hands out what changed in the tables since it was last called.
	publish func(batch)
	metrics *metrics
}

// step does one round and says what was computed.
func (l *lane) step() memo.Report {
	start := time.Now()
	b := l.inbox.take()
	l.apply(b)
	report := l.graph.Run()
	l.publish(b)
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
