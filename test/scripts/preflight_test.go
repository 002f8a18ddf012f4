package scripts

import (
	"fmt"
	"strings"
	"testing"
)

// machine makes a directory that looks like /proc, and programs that stand for the disk and for time.
func machine(t *testing.T, availableGiB, freeGB int) checkout {
	t.Helper()
	c := newCheckout(t, "hack/preflight.sh")
	c.write("proc/loadavg", "1.50 0.75 0.30 2/200 4711\n")
	c.write("proc/pressure/cpu", "some avg10=12.50 avg60=1.00 avg300=0.00 total=42\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	c.write("proc/meminfo", fmt.Sprintf("MemTotal: %d kB\nMemFree: 1 kB\nMemAvailable: %d kB\n", 24<<20, availableGiB<<20))
	c.write("proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n")
	c.write("proc/17/stat", "17 (a b) c) S 1 17 17 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 2560 0 0\n")
	c.write("proc/17/cmdline", "compile\x00-o\x00out\x00")
	const disk = "#!/bin/bash\necho 'Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 0 0 %d 1%% /'\n"
	c.write("programs/df", fmt.Sprintf(disk, freeGB*1_000_000_000/1024))
	c.environment = append(c.environment, "PREFLIGHT_PROC="+c.dir+"/proc", "GATEWRIGHT_CACHE="+c.dir+"/cache", "GOCACHE="+c.dir+"/builds")
	c.busyFor(0)
	return c
}

// busyFor lets a process take one and a half of two processors for some windows of five seconds.
func (c checkout) busyFor(windows int) {
	c.t.Helper()
	c.write("programs/sleep", fmt.Sprintf(`#!/bin/bash
cd %q
echo "$1" >>sleeps
n=$(wc -l <sleeps)
busy=$((n <= %[2]d ? n : %[2]d))
echo "cpu $((busy * 750)) 0 0 $((n * 1000 - busy * 750)) 0 0 0 0 0 0
cpu0 0
cpu1 0" >proc/stat
echo "17 (a b) c) S 1 17 17 0 -1 0 0 0 0 0 $((busy * 700)) $((busy * 50)) 0 0 20 0 1 0 100 0 2560 0 0" >proc/17/stat
`, c.dir, windows))
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	t.Run("a quiet machine", func(t *testing.T) {
		t.Parallel()
		c := machine(t, 20, 100)
		out, code := c.run("hack/preflight.sh")
		if code != 0 || strings.Contains(out, "wait") || c.read("sleeps") != "5\n" {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		expect(t, out, "load: 1.50 0.75 0.30, 2 processors\n", "pressure of processors: some avg10=12.50",
			"memory: 20.0 GiB available, 6 needed\n", "disk: 100.0 GB free for the cache ("+c.dir+"/cache), 4 needed\n",
			"for temporary files", "processors: 0% busy")
	})
	t.Run("a machine that is busy for a while", func(t *testing.T) {
		t.Parallel()
		c := machine(t, 20, 100)
		c.busyFor(3)
		out, code := c.run("hack/preflight.sh")
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
		expect(t, out, "processors: 75% busy", "   150%  17 compile -o out", "wait up to 120 s",
			"the machine is quiet after 15 s: its processors are 0% busy\n")
	})
	t.Run("a machine that stays busy is no failure", func(t *testing.T) {
		t.Parallel()
		c := machine(t, 20, 100)
		c.busyFor(1000)
		out, code := c.run("hack/preflight.sh")
		if sleeps := strings.Count(c.read("sleeps"), "\n"); code != 0 || sleeps != 24 {
			t.Errorf("exit code %d after %d windows", code, sleeps)
		}
		expect(t, out, "the processors are still 75% busy after 120 s, by these processes:\n   150%  17 compile -o out", "Going on")
	})
	t.Run("a machine with little memory and disk", func(t *testing.T) {
		t.Parallel()
		out, code := machine(t, 5, 3).run("hack/preflight.sh")
		if code == 0 || strings.Contains(out, "wait") {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		expect(t, out, "memory: 5.0 GiB are available, and 6 are needed", "     10  17 compile",
			"GB are free for the cache", "GB are free for temporary files")
	})
}

func TestPreflightAsksForMoreDiskWhenCachesAreCold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		kubernetes bool
		builtKiB   int
		free       int
		fails      bool
	}{
		{"cold, too small", false, 0, 19, true},
		{"cold, large enough", false, 0, 21, false},
		{"without the build cache", true, 1000, 19, true},
		{"without Kubernetes", false, 50000, 19, true},
		{"warm, too small", true, 50000, 7, true},
		{"warm, large enough", true, 50000, 9, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkout := machine(t, 20, c.free)
			checkout.write("programs/du", fmt.Sprintf("#!/bin/bash\nshift\nfor dir; do printf '%d\t%%s\n' \"$dir\"; done\n", c.builtKiB))
			if c.kubernetes {
				checkout.write("cache/kubernetes-v1.36.3/inputs", "digest")
			}
			if out, code := checkout.run("hack/preflight.sh"); (code != 0) != c.fails {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}
