package killed

import (
	"os"
	"syscall"
	"testing"
)

func TestKilled(t *testing.T) {
	if os.Getenv("RERUN") == "" {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {}
	}
}
