package scripts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// makeStub stands for make. It hangs in the target HANG, with a process in the background, and fails in the target FAIL.
const makeStub = `#!/bin/bash
echo "$*" >>calls
if [[ " $* " == *" $HANG "* ]]; then
	sleep 300 &
	echo "the last words"
	echo "$$ $!" >processes.new
	mv processes.new processes
	sleep 300
fi
[[ " $* " != *" $FAIL "* ]]
`

// buildStub stands for go, which builds the program that reports.
const buildStub = `#!/bin/bash
while (($# > 0)); do
	[[ $1 != -o ]] || printf '#!/bin/bash\necho "report:"; cut -f2,4 "$1/stages"\n' >"$2"
	[[ $1 != -o ]] || chmod +x "$2"
	shift
done
`

func gateCheckout(t *testing.T, environment ...string) checkout {
	t.Helper()
	c := newCheckout(t, "hack/gate-stages.sh", "hack/retry.sh")
	c.write("hack/preflight.sh", "#!/bin/bash\n")
	c.write("hack/diagnose.sh", "#!/bin/bash\necho the diagnosis\n")
	c.write("programs/make", makeStub)
	c.write("programs/go", buildStub)
	c.environment = append(c.environment, append(environment, "CI=true", "GATEWRIGHT_CACHE="+c.dir+"/cache")...)
	c.commitAll()
	return c
}

func TestASignalEndsARunOfTheGate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, stage string
		signal        syscall.Signal
		code          int
		stopsCluster  bool
	}{
		{"lint", "style, imports, chart", syscall.SIGTERM, 143, false},
		{"conformance", "conformance", syscall.SIGTERM, 143, true},
		{"conformance", "conformance", syscall.SIGINT, 130, true},
	} {
		t.Run(c.signal.String()+" in "+c.target, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(c.signal) {
				t.Skip("the tests run in the background of a script: the signal is ignored, by all that they start too")
			}
			checkout := gateCheckout(t, "HANG="+c.target)
			out, code := interrupt(t, checkout, c.signal)
			if code != c.code {
				t.Errorf("exit code %d", code)
			}
			expect(t, out, "the last words\n", "interrupted: stop the stage \""+c.stage+"\"\n", "report:\n",
				"\n"+strconv.Itoa(c.code)+"\t"+c.stage+"\n")
			if strings.Contains(out, "the diagnosis") {
				t.Error("it diagnoses a failure that is none")
			}
			calls := checkout.read("calls")
			if stops := strings.HasSuffix(calls, "cluster-down\n"); stops != c.stopsCluster {
				t.Errorf("the cluster is stopped: %v; calls of make:\n%s", stops, calls)
			}
			if c.stopsCluster {
				expect(t, out, "\n0\tcluster down\n")
			}
		})
	}
}

// interrupt sends a signal to a run whose stage hangs. All processes of the stage have to end.
func interrupt(t *testing.T, c checkout, signal syscall.Signal) (output string, code int) {
	t.Helper()
	var out bytes.Buffer
	cmd := c.command("hack/gate-stages.sh", "all")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, err := os.Stat(c.dir + "/processes"); err == nil {
			break
		}
		select {
		case <-ended:
			t.Fatalf("it ended before it was interrupted:\n%s", out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	signaled := time.Now()
	err := <-ended
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if took := time.Since(signaled); took > 2*time.Minute { // a stage hangs for five
		t.Errorf("it ended after %s", took)
	}
	for id := range strings.FieldsSeq(c.read("processes")) {
		if runs(id) {
			t.Errorf("process %s of the stage is left", id)
		}
	}
	return out.String(), code
}

// runs reports whether a process exists and has not ended. Where process 1 waits for no others, one that has ended is still there.
func runs(id string) bool {
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

func TestARunOfTheGateGoesOnAfterAFailedCheck(t *testing.T) {
	t.Parallel()
	c := gateCheckout(t, "FAIL=verify")
	out, code := c.run("hack/gate-stages.sh", "all")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	expect(t, out, "\n1\tgenerated files, modules\n", "\n0\tunit and property tests\n", "\n0\tsimulation\n")
	if strings.Contains(c.read("calls"), "cluster-up") {
		t.Error("a cluster is started although a check failed")
	}
}

func TestARunOfTheGate(t *testing.T) {
	t.Parallel()
	c := gateCheckout(t)
	if out, code := c.run("hack/gate-stages.sh", "all"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	calls := c.read("calls")
	if !strings.HasSuffix(calls, "cluster-down\n") {
		t.Errorf("the cluster is not stopped at the end:\n%s", calls)
	}
	c.read("cache/gate/" + strings.TrimSpace(c.git("rev-parse", "HEAD^{tree}"))) // fails if it is not there
}

func TestAFastRunOfTheGateNeedsNoCluster(t *testing.T) {
	t.Parallel()
	c := gateCheckout(t)
	if out, code := c.run("hack/gate-stages.sh", "fast"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if calls := c.read("calls"); strings.Contains(calls, "cluster-up") || !strings.Contains(calls, "simulate") {
		t.Errorf("calls of make:\n%s", calls)
	}
	if _, err := os.Stat(c.dir + "/cache/gate"); err == nil {
		t.Error("it counts as a whole run")
	}
}

func TestTheGateRunsOnACloneOfWhatIsCommitted(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/gate.sh")
	c.write("hack/gate-stages.sh", "cd \"$(dirname \"$0\")/..\" && echo \"$1 of $(echo *) in $PWD\" && exit 7\n")
	c.commitAll()
	c.write("forgotten", "")
	temporary := t.TempDir()
	c.environment = append(c.environment, "TMPDIR="+temporary)
	for range 2 {
		out, code := c.run("hack/gate.sh", "fast")
		if code != 7 {
			t.Errorf("exit code %d", code)
		}
		expect(t, out, "not committed, and so not part of this run:\n?? forgotten\nfast of hack in "+temporary+"/gatewright-gate\n")
	}
}

func TestVariablesOfTheCallerDoNotReachTheGate(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/gate.sh")
	c.write("hack/gate-stages.sh", "echo \"variables: $TESTFLAGS$MAKEFLAGS$GIT_DIR$GATEWRIGHT_STATE\"\n")
	c.commitAll()
	c.environment = append(c.environment, "TMPDIR="+t.TempDir(), "TESTFLAGS=-test.run=TestX", "MAKEFLAGS=i", "GIT_DIR="+c.dir+"/.git",
		"GATEWRIGHT_STATE=/srv")
	if out, code := c.run("hack/gate.sh"); code != 0 || out != "variables: \n" {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestTheGateEndsAStageOfAKilledRun(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	c := gateCheckout(t, "HANG=lint", "TMPDIR="+temporary)
	c.copy("hack/gate.sh")
	c.commitAll()
	killed := c.command("hack/gate.sh")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	var processes []byte
	for ; len(processes) == 0; time.Sleep(10 * time.Millisecond) {
		processes, _ = os.ReadFile(temporary + "/gatewright-gate/processes")
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()

	c.environment = append(c.environment, "HANG=")
	out, code := c.run("hack/gate.sh")
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	expect(t, out, "end a stage that a killed run left\n")
	for id := range strings.FieldsSeq(string(processes)) {
		if runs(id) {
			t.Errorf("process %s of the killed run is left", id)
		}
	}
}

func TestAShortMachineEndsARunOfTheGate(t *testing.T) {
	t.Parallel()
	c := gateCheckout(t)
	c.write("hack/preflight.sh", "#!/bin/bash\necho disk: 1 GB is free; exit 1\n")
	out, code := c.run("hack/gate-stages.sh", "all")
	if code != 1 || !strings.HasSuffix(out, "\n1\tpreflight\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if calls := c.read("calls"); strings.Contains(calls, "lint") {
		t.Errorf("it goes on: %s", calls)
	}
}
