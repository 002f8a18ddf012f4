//go:build bench

package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine says what this runs on.
func machine() string {
	return fmt.Sprintf("%d × %s, %s of memory, Linux %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"), memory(), kernel())
}

// field is the value of the first line of a file in /proc that begins with a name.
func field(file, name string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memory() string {
	var kibibytes int
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d kB", &kibibytes); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%d GiB", kibibytes>>20)
}

func kernel() string {
	content, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(content))
}

// loadAverage is how many processes wanted to run in the last minute.
func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(content), " ")
	return first
}
