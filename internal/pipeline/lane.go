package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
)

// lane is a loop of its own over a part of the objects: take what changed, bring the tables up to date, hand out the differences.
type lane struct {
	name  string
	inbox *inbox
	// apply brings what came in into the objects.
	apply func(batch)
	graph *memo.Graph
	// publish hands out what changed in the tables since it was last called.
	publish func(batch, memo.Report)
	metrics *metrics
	// panicked is told of every panic.
	panicked panicked
}

// panicked is told that something panicked for a key: a stage, or the taking in of an object.
type panicked func(where, key, reason, stack string)

// take brings a change into the objects. An object that cannot be taken in is as it was before.
func take(objects *store.Objects, c store.Change, failed panicked) {
	defer func() {
		if p := recover(); p != nil {
			failed("objects", string(c.Kind)+"/"+c.Key, fmt.Sprint(p), string(debug.Stack()))
		}
	}()
	objects.Apply(c)
}

// step does one round and says what was computed.
func (l *lane) step() memo.Report {
	start := time.Now()
	b := l.inbox.take()
	l.apply(b)
	report := l.graph.Run()
	for _, f := range report.Failed {
		l.panicked(f.Stage, f.Key, f.Reason, f.Stack)
	}
	l.publish(b, report)
	l.inbox.done()
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
