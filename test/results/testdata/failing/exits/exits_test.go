package exits

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("RERUN") == "" {
		fmt.Println("the set-up failed: no cluster")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestNeverRuns(*testing.T) {}
