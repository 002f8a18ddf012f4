package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/pki"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// streamFigures is what many proxies of one control plane cost, and how soon they have a change.
type streamFigures struct {
	Proxies, Routes, Gateways int
	// Connected is how long it takes until all have everything after the first has connected, and ConnectedCPU what the control plane
	// needs for it.
	Connected, ConnectedCPU time.Duration
	// Memory is what each stream needs while nothing happens: heap and stacks. It means something only if nothing else runs in the process.
	Memory uint64
	// IdleCPU is the part of a processor that all of them need while nothing happens.
	IdleCPU float64
	// Typical and Slowest are how long it takes until all have acknowledged one changed assignment, and CPU what the control plane needs
	// for it.
	Typical, Slowest, CPU time.Duration
}

const (
	endpointChanges = 20
	idleTime        = 5 * time.Second
	// probeTimeout is how long proxies may take for anything.
	probeTimeout = 2 * time.Minute
)

// measureStreams lets that many proxies in.
func measureStreams(ctx context.Context, s scenario, proxies int) (streamFigures, error) {
	f := streamFigures{Proxies: proxies, Routes: s.Routes, Gateways: s.Gateways}
	p := newPlane(s, proxies)
	s.each(p.pipeline.Put)
	p.start()
	p.run()
	defer p.stop()
	address, ca, stop, err := serve(ctx, p)
	if err != nil {
		return f, err
	}
	defer stop()
	idle := inUse()
	cpu, start := processorTime(), time.Now()
	crowd, err := gather(crowd{
		Address: address, ServerName: settings.ServerNames()[0], Bundle: ca.Bundle(), Proxies: proxies, Gateways: s.Gateways,
		Watched: watched(),
	})
	if err != nil {
		return f, err
	}
	defer crowd.dismiss()
	if err := crowd.await(allReady); err != nil {
		return f, err
	}
	f.Connected, f.ConnectedCPU = time.Since(start), processorTime()-cpu
	crowd.settle()
	f.Memory = (inUse() - idle) / uint64(proxies) //nolint:gosec // positive
	before := processorTime()
	time.Sleep(idleTime)
	f.IdleCPU = (processorTime() - before).Seconds() / idleTime.Seconds()
	err = f.change(p, s, crowd)
	return f, err
}

// change moves the endpoints of the Service that all use, several times.
func (f *streamFigures) change(p *plane, s scenario, crowd *gathered) error {
	var times []time.Duration
	cpu := processorTime()
	for i := range endpointChanges {
		start := time.Now()
		p.pipeline.Put(s.slice(0, i+1))
		if err := crowd.await(allAcked); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	f.CPU = (processorTime() - cpu) / endpointChanges
	f.Typical = middle(times)
	f.Slowest = times[len(times)-1]
	return nil
}

// watched is the name of the assignment of the first Service.
func watched() string {
	return ir.Endpoints{Object: ir.Name{Namespace: namespace, Name: name("service", 0)}, Port: port}.String()
}

var settings = render.Settings{SystemNamespace: "gatewright-system"}

// serve opens the xDS port.
func serve(ctx context.Context, p *plane) (address string, ca *pki.Authority, stop func(), err error) {
	lives := pki.DefaultLifetimes()
	if ca, _, err = pki.Advance(nil, lives, time.Now()); err != nil {
		return "", nil, nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, nil, fmt.Errorf("open the xDS port: %w", err)
	}
	server := xds.NewServer(p.cache, tokens{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), observer{p})
	server.AllowListed(atMost, atMost)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ctx, listener, pki.ServerTLS(fixed{ca}, lives, time.Now, settings.ServerNames()...))
	}()
	return listener.Addr().String(), ca, func() {
		cancel()
		<-done
	}, nil
}

type fixed struct{ authority *pki.Authority }

// Authority implements [pki.Source].
func (f fixed) Authority() *pki.Authority { return f.authority }

// observer tells the tracker what proxies have, as in production.
type observer struct{ *plane }

func (o observer) Connected(i xds.Identity)           { o.tracker.Connected(i) }
func (o observer) Disconnected(i xds.Identity)        { o.tracker.Disconnected(i) }
func (o observer) Holds(i xds.Identity, state string) { o.tracker.Holds(i, state) }
func (o observer) Leaves(i xds.Identity)              { o.tracker.Leaves(i) }
func (o observer) NACKed(i xds.Identity, r xds.NACK) {
	o.pipeline.NACKed(i, r)
}

// tokens believes what a token says.
type tokens struct{}

func token(gateway int, pod string) string {
	return store.Key(namespace, name("gateway", gateway)) + "|" + pod
}

// Authenticate implements [xds.Authenticator].
func (tokens) Authenticate(_ context.Context, token string) (xds.Proof, error) {
	gateway, pod, _ := strings.Cut(token, "|")
	return xds.Proof{Identity: xds.Identity{Group: xds.GroupID(ir.ParseName(gateway)), Pod: pod}, Expires: time.Now().Add(24 * time.Hour)}, nil
}

// gathered is the process that stands for the proxies.
type gathered struct {
	process *exec.Cmd
	in      io.WriteCloser
	words   chan string
}

func gather(c crowd) (*gathered, error) {
	helper, err := newHelper(helperSimulate)
	if err != nil {
		return nil, err
	}
	g := &gathered{process: helper, words: make(chan string, 100)}
	if g.in, err = g.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the proxies: %w", err)
	}
	out, err := g.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the proxies: %w", err)
	}
	if err := g.process.Start(); err != nil {
		return nil, fmt.Errorf("start the proxies: %w", err)
	}
	go func() {
		defer close(g.words)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			g.words <- lines.Text()
		}
	}()
	return g, json.NewEncoder(g.in).Encode(c)
}

var errGone = errors.New("the process of the proxies has ended")

// await waits for a word.
func (g *gathered) await(word string) error {
	late := time.After(probeTimeout)
	for {
		select {
		case said, ok := <-g.words:
			if !ok {
				return errGone
			}
			if said == word {
				return nil
			}
		case <-late:
			return fmt.Errorf("the proxies have not said %q within %s", word, probeTimeout)
		}
	}
}

// settle waits until nothing more is said.
func (g *gathered) settle() {
	for {
		select {
		case <-g.words:
		case <-time.After(2 * time.Second):
			return
		}
	}
}

func (g *gathered) dismiss() {
	_ = g.in.Close()
	_ = g.process.Wait()
}

// inUse is the heap and the stacks after everything else was collected.
func inUse() uint64 {
	inHeap := heap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return inHeap + m.StackInuse
}
