package pipeline

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestALaneThatHangsHasAnAge has a stage hang, and end after ten minutes.
func TestALaneThatHangsHasAnAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		hangs := false
		p := New(discardAll(), prometheus.NewRegistry(), WithFault(func(string, string) {
			if hangs {
				<-hang
			}
		}))
		put(t, p, base)
		time.Sleep(time.Hour)
		if age := p.Age(); age != 0 {
			t.Errorf("before the first round the age is %s", age)
		}
		p.Start()
		hangs = true
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.Run(ctx)
		synctest.Wait()
		time.Sleep(time.Hour)
		if age := p.Age(); age != 0 {
			t.Errorf("when nothing has changed the age is %s", age)
		}
		put(t, p, twoTenants)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if age := p.Age(); age != 10*time.Minute {
			t.Errorf("when a stage has hung for ten minutes the age is %s", age)
		}
		close(hang)
		synctest.Wait()
		if age := p.Age(); age != 0 {
			t.Errorf("when it has gone on the age is %s", age)
		}
	})
}
