//go:build bench

package bench

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/live"
)

// fixtures are the namespaces that would be left behind.
var fixtures struct {
	sync.Mutex
	all []*live.Fixture
}

func remember(w *live.Fixture) {
	fixtures.Lock()
	defer fixtures.Unlock()
	fixtures.all = append(fixtures.all, w)
}

// leaveNothing deletes the namespaces on an interrupt, since tests do not clean up then. What was measured is in the file already.
func leaveNothing() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		progress("interrupted: the namespaces are deleted, -resume goes on from here")
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		fixtures.Lock()
		for _, w := range fixtures.all {
			if err := w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}); err != nil {
				progress("delete namespace %s: %v", w.Namespace, err)
			}
		}
		os.Exit(130)
	}()
}
