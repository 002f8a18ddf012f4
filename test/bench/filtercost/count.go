package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Requests that are counted are the difference between two runs of the load generator, so that connections do not count.
const (
	warmUp   = 300
	fewCount = 2
	// counted is how many more the second run has.
	counted = 8
)

// instructions counts what the proxy's thread does for a request, outside of the kernel.
func (p *proxy) instructions(ctx context.Context, how protocol) (float64, error) {
	if err := p.load(ctx, how, warmUp).Run(); err != nil {
		return 0, fmt.Errorf("h2load (Debian package nghttp2-client): %w", err)
	}
	few, err := p.steps(p.load(ctx, how, fewCount))
	if err != nil {
		return 0, err
	}
	more, err := p.steps(p.load(ctx, how, fewCount+counted))
	return float64(more-few) / counted, err
}

// steps has the proxy's thread go one instruction at a time until a command has ended, and counts them.
func (p *proxy) steps(command *exec.Cmd) (n int, err error) {
	thread, err := p.worker()
	if err != nil {
		return 0, err
	}
	// Only the thread that traces may do so. It shares the core of the one that is traced, because they only ever wait for each other.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var everywhere, here unix.CPUSet
	if err := errors.Join(
		unix.SchedGetaffinity(0, &everywhere), unix.SchedGetaffinity(thread, &here), unix.SchedSetaffinity(0, &here),
	); err != nil {
		return 0, fmt.Errorf("share a core with the proxy: %w", err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &everywhere) }()
	if err := unix.PtraceSeize(thread); err != nil {
		return 0, fmt.Errorf("trace the proxy: %w", err)
	}
	if err := unix.PtraceInterrupt(thread); err != nil {
		return 0, fmt.Errorf("trace the proxy: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- command.Run()
		// The thread may be waiting for something that does not come any more.
		time.Sleep(10 * time.Millisecond)
		_ = unix.Tgkill(p.process.Process.Pid, thread, unix.SIGSTOP)
	}()
	for ; ; n++ {
		var status unix.WaitStatus
		if _, err := unix.Wait4(thread, &status, unix.WALL, nil); err != nil {
			return 0, fmt.Errorf("wait for the proxy: %w", err)
		}
		if status.Exited() || status.Signaled() {
			return 0, errors.New("the proxy has ended")
		}
		if status.StopSignal() == unix.SIGSTOP {
			break
		}
		if err := unix.PtraceSingleStep(thread); err != nil {
			return 0, fmt.Errorf("trace the proxy: %w", err)
		}
	}
	if err := unix.PtraceDetach(thread); err != nil {
		return 0, fmt.Errorf("let the proxy go: %w", err)
	}
	if err := <-ended; err != nil {
		return 0, fmt.Errorf("h2load: %w", err)
	}
	return n, nil
}

// worker is the thread that serves requests.
func (p *proxy) worker() (int, error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", p.process.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("find the proxy's threads: %w", err)
	}
	for _, path := range names {
		if name, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(name), "wrk:worker_0") {
			return strconv.Atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	return 0, errors.New("the proxy has no thread for requests")
}

// addressesNotRandom is ADDR_NO_RANDOMIZE of personality(2).
const addressesNotRandom = 0x0040000

// withoutRestarts becomes another program, for which the kernel has no restartable sequences. Envoy's allocator uses them where it can,
// and one that is interrupted, as by going one instruction at a time, begins anew for ever.
func withoutRestarts(program string, arguments []string) error {
	runtime.LockOSThread()
	filter := [4]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_RSEQ, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	// Where a program lies in memory is the seed of its hashes, and so of how long it looks for things.
	if _, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, addressesNotRandom, 0, 0); errno != 0 {
		return fmt.Errorf("have addresses that are not random: %w", errno)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	if err := restrict(&unix.SockFprog{Len: 4, Filter: &filter[0]}); err != nil {
		return fmt.Errorf("do without restartable sequences: %w", err)
	}
	return fmt.Errorf("run %s: %w", program, unix.Exec(program, append([]string{program}, arguments...), os.Environ()))
}
