package scripts

import (
	"fmt"
	"strings"
	"testing"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ failures, calls, code int }{{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 3, 7}} {
		t.Run(fmt.Sprintf("a command that fails %d times", c.failures), func(t *testing.T) {
			t.Parallel()
			checkout := newCheckout(t, "hack/retry.sh")
			checkout.write("programs/download", fmt.Sprintf("#!/bin/bash\necho call >>calls\n(($(wc -l <calls) > %d)) || exit 7\n", c.failures))
			out, code := checkout.run("hack/retry.sh", "download", "module")
			if calls := strings.Count(checkout.read("calls"), "call"); code != c.code || calls != c.calls {
				t.Errorf("%d calls, exit code %d:\n%s", calls, code, out)
			}
			if c.failures > 0 {
				expect(t, out, "attempt 1 of 3 failed (exit code 7), the next one begins in 0 s: download module")
			}
		})
	}
}

func TestRetryStopsWhenInterrupted(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/retry.sh")
	out, code := c.run("hack/retry.sh", "sh", "-c", "echo call >>calls; exit 130")
	if calls := strings.Count(c.read("calls"), "call"); code != 130 || calls != 1 {
		t.Errorf("%d calls, exit code %d:\n%s", calls, code, out)
	}
}

// goStub stands for go: "go mod download" and "go mod tidy -diff" read from the file "answer" of a module what they do.
const goStub = `#!/bin/bash
echo "$PWD" >>"$ROOT/calls"
case $(cat answer) in
tidy) ;;
untidy) echo "-require example.org/a"; exit 1 ;;
unreachable) echo "dial tcp: timeout" >&2; exit 1 ;;
slow) echo tidy >answer; echo "dial tcp: timeout" >&2; exit 1 ;;
esac
`

func modules(t *testing.T, script string, answers map[string]string) checkout {
	t.Helper()
	c := newCheckout(t, "hack/retry.sh", script)
	c.write("programs/go", goStub)
	c.environment = append(c.environment, "ROOT="+c.dir)
	for dir, answer := range answers {
		c.write(dir+"/go.mod", "module example.org")
		c.write(dir+"/answer", answer)
	}
	c.write(".github/dependabot.yml", "    directories:\n      - \"/\"\n      - \"/*\"\n")
	return c
}

func TestAllModulesAreCheckedAndDownloadsRetried(t *testing.T) {
	t.Parallel()
	c := modules(t, "hack/check-modules.sh", map[string]string{"a": "tidy", "b": "untidy", "c": "unreachable", "d": "slow", "e": "untidy"})
	out, code := c.run("hack/check-modules.sh")
	if code == 0 {
		t.Error("it succeeded")
	}
	expect(t, out, "go mod tidy fails in these modules, see above: ./c\n",
		"not tidy; run go mod tidy in each and commit: ./b ./e\n", "-require")
	// A difference is no reason to try again.
	if calls := strings.Count(c.read("calls"), "\n"); calls != 1+1+3+2+1 {
		t.Errorf("%d calls of go:\n%s", calls, out)
	}
}

func TestModulesThatAreTidyPass(t *testing.T) {
	t.Parallel()
	c := modules(t, "hack/check-modules.sh", map[string]string{".": "tidy", "d": "slow"})
	if out, code := c.run("hack/check-modules.sh"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestModulesThatDependabotDoesNotKnowFail(t *testing.T) {
	t.Parallel()
	c := modules(t, "hack/check-modules.sh", map[string]string{".": "tidy", "a": "tidy", "a/b": "tidy", "a/testdata/c": "tidy"})
	out, code := c.run("hack/check-modules.sh")
	if code == 0 {
		t.Error("it succeeded")
	}
	expect(t, out, "these modules are not in .github/dependabot.yml: ./a/b\n")
}

func TestDownloadsOfAllModulesAreRetried(t *testing.T) {
	t.Parallel()
	c := modules(t, "hack/download.sh", map[string]string{"a": "unreachable", "b": "slow", "c": "unreachable", "d/testdata/e": "unreachable"})
	out, code := c.run("hack/download.sh")
	if code == 0 {
		t.Error("it succeeded")
	}
	expect(t, out, "cannot be downloaded: ./a ./c\n")
}
