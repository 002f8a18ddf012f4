package load

import (
	"context"
	"sync"
	"time"
)

// Conversations are exchanges of many messages, several at a time, each followed by the next.
type Conversations struct {
	cancel  context.CancelFunc
	talkers sync.WaitGroup
	tally   *tally
}

// Converse holds as many conversations at a time as there are talkers until it is stopped, or the time is over. A talker says why its
// conversation failed; it is not interrupted, so it must end by itself.
func Converse(ctx context.Context, limit time.Duration, talkers ...func() error) *Conversations {
	ctx, cancel := context.WithTimeout(ctx, limit)
	c := &Conversations{cancel: cancel, tally: newTally()}
	for _, talk := range talkers {
		c.talkers.Go(func() {
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
	return c
}

// Stop lets the conversations under way end and returns what became of all.
func (c *Conversations) Stop() Result {
	c.cancel()
	c.talkers.Wait()
	return c.tally.result
}
