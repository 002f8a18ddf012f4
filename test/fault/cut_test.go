//go:build fault

package fault

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/test/live"
)

// cutStream resets a proxy's connection to the control plane. It may be about to connect to another replica, which must not take it
// longer than the limit.
func cutStream(t *testing.T, proxy *corev1.Pod) {
	t.Helper()
	network := fmt.Sprintf("--net=/proc/%d/ns/net", process(t, proxy))
	live.Eventually(t, reconnectLimit, 50*time.Millisecond, func(context.Context) error {
		killed := command(t, "", "nsenter", network, "--", "ss", "--no-header", "--tcp", "--kill", "state", "established", "dport", "=", ":18000")
		if killed == "" {
			return fmt.Errorf("proxy %s has no connection to the control plane that could be cut", proxy.Name)
		}
		return nil
	})
}

// cutTable holds what keeps packets from their way; it is the tests' own, and deleting it restores everything.
const cutTable = "gatewright-fault"

// cutAPIServer keeps the controllers' packets from the API server, and its packets from them, until the returned function is called, the
// test ends, or the longest time has passed: the addresses leave the table by themselves, whatever becomes of the test.
func (w *fixture) cutAPIServer(t *testing.T, longest time.Duration) (restore func()) {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("find the controller: %d pods, %v", len(pods), err)
	}
	var elements []string
	for i := range pods {
		elements = append(elements, fmt.Sprintf("%s timeout %ds", pods[i].Status.PodIP, int(longest.Seconds())))
	}
	restore = func() {
		// The test's own context may be over.
		_, _ = run(context.Background(), "", "nft", "delete", "table", "ip", cutTable)
	}
	restore()
	t.Cleanup(restore)
	command(t, strings.NewReplacer("TABLE", cutTable, "ELEMENTS", strings.Join(elements, ", ")).Replace(`
		table ip TABLE {
			set cut { type ipv4_addr; flags timeout; elements = { ELEMENTS } }
			chain to   { type filter hook input  priority -10; ip saddr @cut tcp dport 6443 drop; }
			chain from { type filter hook output priority -10; ip daddr @cut tcp sport 6443 drop; }
		}`), "nft", "--file", "-")
	return restore
}

// command runs a program with some input and returns what it printed.
func command(t *testing.T, input string, argv ...string) string {
	t.Helper()
	output, err := run(t.Context(), input, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func run(ctx context.Context, input string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(input)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, output)
	}
	return strings.TrimSpace(string(output)), nil
}
