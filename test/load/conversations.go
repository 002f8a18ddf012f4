package load

import (
	"context"
	"sync"
	"time"
)

// Conversations are exchanges of many messages, several at a time, each followed by the next.
type Conversations struct {
	cancel context.CancelFunc
	done   chan struct{}
	tally  *tally
}

// Converse holds as many conversations at a time as there are talkers until it is stopped, or the time is over. A talker says why its
// conversation failed; it is not interrupted, so it must end by itself.
func Converse(ctx context.Context, limit time.Duration, talkers ...func() error) *Conversations {
	ctx, cancel := context.WithTimeout(ctx, limit)
	c := &Conversations{cancel: cancel, done: make(chan struct{}), tally: newTally()}
	var group sync.WaitGroup
	for _, talk := range talkers {
		group.Go(func() {
			for ctx.Err() == nil {
				start := time.Now()
				failure := ""
				if err := talk(); err != nil {
					failure = err.Error()
				}
				c.tally.record(failure, time.Since(start))
				if failure != "" {
					time.Sleep(50 * time.Millisecond) // not as fast as failing is
				}
			}
		})
	}
	go func() {
		group.Wait()
		close(c.done)
	}()
	return c
}

// Done is closed when no conversation is under way any more.
func (c *Conversations) Done() <-chan struct{} { return c.done }

// Stop lets the conversations under way end and returns what became of all.
func (c *Conversations) Stop() Result {
	c.cancel()
	<-c.done
	return c.tally.result
}
