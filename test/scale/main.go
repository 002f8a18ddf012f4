package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// helperVariable has this program do one thing in a process of its own, told on its standard input: measure a scenario, so that what was
// measured before leaves no trace in its memory, or stand for proxies, so that theirs is not counted.
const (
	helperVariable = "SCALE_HELPER"
	helperMeasure  = "measure"
	helperSimulate = "simulate"
)

func main() {
	if done, err := help(); done {
		exitOn(err)
		return
	}
	sizes := flag.String("routes", "1000,10000,100000", "numbers of routes to compare")
	edits := flag.Int("edits", 10_000, "how many changes to make for each figure")
	hosts := flag.String("hosts", "10,100,1000,5000", "numbers of rules of one host to compare; empty leaves it out")
	rounds := flag.Int("rounds", 5, "how often each host is asked, for two seconds")
	proxies := flag.String("proxies", "100,300,1000", "numbers of proxies to compare; empty leaves it out")
	out := flag.String("out", "", "where figures and plots are written")
	flag.Parse()
	r, err := run(numbers(*sizes), numbers(*hosts), numbers(*proxies), *edits, *rounds)
	// What was measured before something failed is not lost.
	exitOn(errors.Join(r.write(os.Stdout, *out), err))
}

// help does what a helper is for, if this is one.
func help() (bool, error) {
	switch os.Getenv(helperVariable) {
	case helperMeasure:
		return true, attend(os.Stdin, os.Stdout)
	case helperSimulate:
		return true, simulate(os.Stdin, os.Stdout)
	default:
		return false, nil
	}
}

func run(sizes, hosts, proxies []int, edits, rounds int) (results, error) {
	ctx := context.Background()
	var r results
	var err error
	cost := func(into *[]figures, edits int, scenarios []scenario) {
		if err == nil {
			*into, err = measureInTurn(scenarios, edits)
		}
	}
	spread, single := make([]scenario, len(sizes)), make([]scenario, len(sizes))
	for i, n := range sizes {
		spread[i], single[i] = scaled(n), scaled(n)
		single[i].Gateways = 1
	}
	shared := []scenario{{Routes: 500, Gateways: 1, Services: 50, Endpoints: 500, Together: true}, {
		Routes: 5000, Gateways: 1, Services: 500, Endpoints: 5000, Together: true,
	}}
	cost(&r.Sites, edits, spread)
	if last := len(r.Sites) - 1; err == nil && last >= 0 {
		r.Sites[last].Holdings, err = profileApart(spread[last])
	}
	cost(&r.Single, edits, single)
	cost(&r.Shared, max(edits/200, 10), shared)
	wide := []scenario{{Routes: 10_000, Gateways: 1, Services: 1000, Endpoints: 10_000}, {
		Routes: 10_000, Gateways: 1, Services: 1000, Endpoints: 10_000, Wide: true,
	}}
	cost(&r.Wide, max(edits/200, 10), wide)
	if err == nil && len(hosts) > 0 {
		progress("ask hosts of %v rules", hosts)
		r.Hosts, err = measureHosts(ctx, hosts, rounds, 2*time.Second)
	}
	streams := func(s scenario, proxies int) {
		if err != nil {
			return
		}
		progress("let %d proxies of %d Gateways in", proxies, s.Gateways)
		var f streamFigures
		if f, err = measureStreams(ctx, s, proxies); err == nil {
			r.Streams = append(r.Streams, f)
		}
	}
	for _, n := range proxies {
		s := scaled(1000)
		s.Gateways = 1
		streams(s, n)
	}
	if len(proxies) > 0 {
		streams(scaled(sizes[len(sizes)-1]), proxies[len(proxies)-1])
	}
	return r, err
}

func newHelper(what string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	helper := exec.Command(self)
	helper.Env = append(os.Environ(), helperVariable+"="+what)
	helper.Stderr = os.Stderr
	helper.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return helper, nil
}

func numbers(list string) []int {
	var all []int
	for _, text := range strings.Split(list, ",") {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	return all
}

func progress(format string, values ...any) {
	_, _ = fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", values...)
}

func exitOn(err error) {
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
