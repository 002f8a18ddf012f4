package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// proxy is a running Envoy with one thread for requests.
type proxy struct {
	process   *exec.Cmd
	ports     []int
	directory string
	// headers are those of requests.
	headers []string
}

func start(ctx context.Context, binary string, c *configuration) (*proxy, error) {
	p := &proxy{}
	for range c.bootstrap.GetStaticResources().GetListeners() {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		p.ports = append(p.ports, port)
	}
	var err error
	if p.directory, err = os.MkdirTemp("", "parts"); err != nil {
		return nil, fmt.Errorf("make a directory for Envoy: %w", err)
	}
	config, err := c.write(p.directory, p.ports)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p.process = exec.Command(
		self, binary, "--config-path", config, "--concurrency", "1", "--disable-hot-restart", "--service-node", "parts",
		"--service-cluster", "parts", "--log-level", "error",
	)
	p.process.Env = append(os.Environ(), becomeVariable+"=1")
	p.process.Stderr = os.Stderr
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// The access log is read, as a container's runtime does.
	log, err := p.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for Envoy: %w", err)
	}
	if err := p.process.Start(); err != nil {
		return nil, fmt.Errorf("start Envoy: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	for _, port := range p.ports {
		if err := awaitListener(ctx, port); err != nil {
			p.stop()
			return nil, fmt.Errorf("%s: %w", config, err)
		}
	}
	return p, nil
}

func awaitListener(ctx context.Context, port int) error {
	for range 500 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err == nil {
			_ = conn.Close()
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the proxy does not listen")
}

func (p *proxy) stop() {
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
	_ = os.RemoveAll(p.directory)
}

// load sends so many requests, one after the other.
func (p *proxy) load(ctx context.Context, how protocol, requests int) *exec.Cmd {
	address := net.JoinHostPort(loopback, strconv.Itoa(p.ports[how.port]))
	flags := slices.Clone(how.flags)
	for _, header := range p.headers {
		flags = append(flags, "--header="+header)
	}
	return exec.CommandContext(ctx, "h2load", append([]string{
		"--threads=1", "--clients=1", "--max-concurrent-streams=1", "--requests=" + strconv.Itoa(requests), "--connect-to=" + address,
		how.scheme + "://" + host + "/",
	}, flags...)...)
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a port: %w", err)
	}
	defer func() { _ = l.Close() }()
	address, _ := l.Addr().(*net.TCPAddr)
	return address.Port, nil
}
