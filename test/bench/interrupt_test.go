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

// worlds are the namespaces that would be left behind.
var worlds struct {
	sync.Mutex
	all []*live.World
}

func remember(w *live.World) {
	worlds.Lock()
	defer worlds.Unlock()
	worlds.all = append(worlds.all, w)
}

// leaveNothing deletes the namespaces when somebody interrupts, since tests do not clean up then. What was measured is in the file already.
func leaveNothing() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		progress("interrupted: the namespaces are deleted, -resume goes on from here")
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		worlds.Lock()
		for _, w := range worlds.all {
			if err := w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}); err != nil {
				progress("delete namespace %s: %v", w.Namespace, err)
			}
		}
		os.Exit(130)
	}()
}
