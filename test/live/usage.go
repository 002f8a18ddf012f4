package live

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Usage is what the processes of pods have taken of the machine.
type Usage struct {
	// CPU is the time they ran since they started.
	CPU time.Duration
	// Memory is what is resident of them, in bytes.
	Memory int64
}

// tick is the unit in which Linux tells how long a process ran.
const tick = 10 * time.Millisecond

// UsageOf adds up what the processes of pods take. The test runs on the cluster's only node, so it sees them.
func UsageOf(t *testing.T, pods []corev1.Pod) Usage {
	t.Helper()
	var total Usage
	for i := range pods {
		for _, pid := range Processes(t, string(pods[i].UID)) {
			one, err := usageOfProcess(pid)
			if err != nil {
				t.Fatalf("what pod %s takes: %v", pods[i].Name, err)
			}
			total.CPU += one.CPU
			total.Memory += one.Memory
		}
	}
	return total
}

// Positions in /proc/<pid>/stat behind the name of the process, which may hold anything and ends with the last parenthesis; see proc(5).
const (
	userTicks   = 11
	systemTicks = 12
	rssPages    = 21
)

func usageOfProcess(pid int) (Usage, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read the state of process %d: %w", pid, err)
	}
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	numbers := make([]int64, len(fields))
	for i := 1; i < len(fields); i++ {
		if numbers[i], err = strconv.ParseInt(string(fields[i]), 10, 64); err != nil {
			// Some are larger than that; none of ours.
			continue
		}
	}
	return Usage{
		CPU:    time.Duration(numbers[userTicks]+numbers[systemTicks]) * tick,
		Memory: numbers[rssPages] * int64(os.Getpagesize()),
	}, nil
}
