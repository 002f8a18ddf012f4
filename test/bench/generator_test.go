//go:build bench

package bench

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/live"
)

// protocol is how the load generator talks.
type protocol struct {
	name, scheme, port string
	flags              []string
}

// The generator runs for this long, of which the beginning does not count. Many short rounds say more than a few long ones: what
// differs between rounds does not average out within one.
const (
	raceTime = 2 * time.Second
	warmUp   = 300 * time.Millisecond
)

// generate sends as many requests as are answered, with h2load, which costs less than the proxy does.
func (s *scenario) generate(t *testing.T, p protocol, to racer) figures.Speed {
	t.Helper()
	log := filepath.Join(t.TempDir(), "requests")
	arguments := append([]string{
		"--threads=1", "--duration=" + strconv.Itoa(int(raceTime.Seconds())), "--log-file=" + log,
		"--connect-to=" + net.JoinHostPort(to.address, p.port),
	}, p.flags...)
	cpu := live.UsageOf(t, to.pods).CPU
	output, err := exec.CommandContext(t.Context(), "h2load", append(arguments, p.scheme+"://"+fastHost+"/")...).CombinedOutput()
	if err != nil {
		t.Fatalf("h2load (Debian package nghttp2-client): %v\n%s", err, output)
	}
	cpu = live.UsageOf(t, to.pods).CPU - cpu
	speed, sent := readRequests(t, log)
	if sent == 0 {
		t.Fatalf("h2load has sent nothing:\n%s", output)
	}
	speed.CPU = float64(cpu.Microseconds()) / float64(sent)
	return speed
}

// readRequests reads what h2load writes of each request: when it began and how long it took, in microseconds, and its status between them.
func readRequests(t *testing.T, path string) (speed figures.Speed, sent int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var first, last int64
	var times figures.Times
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			t.Fatalf("h2load wrote %q", lines.Text())
		}
		began, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		took, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sent++
		if fields[1] != "200" {
			speed.Failed++
		}
		if first == 0 {
			first = began
		}
		if began-first < warmUp.Microseconds() {
			continue
		}
		last = max(last, began+took)
		times.Add(time.Duration(took) * time.Microsecond)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	speed.RequestsPerSecond = float64(len(times)) / (time.Duration(last-first)*time.Microsecond - warmUp).Seconds()
	speed.P50, speed.P99 = times.P50(), times.P99()
	return speed, sent
}
