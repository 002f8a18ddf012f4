package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// helperVariable has this program do one thing in a process of its own, told on its standard input: measure a site, so that what was measured before leaves no trace in its memory, or stand for
// proxies, so that theirs is not counted.
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
	edits := flag.Int("edits", 20_000, "how many changes to make for each figure")
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
		var order orderedSite
		if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
			return true, fmt.Errorf("read what to measure: %w", err)
		}
		if order.Profile {
			runtime.MemProfileRate = profileRate
			return true, json.NewEncoder(os.Stdout).Encode(figures{Holdings: profile(order.site())})
		}
		return true, json.NewEncoder(os.Stdout).Encode(measure(order.site(), order.Edits))
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
	cost := func(into *[]figures, s site, edits int) {
		if err != nil {
			return
		}
		progress("measure %d routes of %d Gateways", s.routes, s.gateways)
		var f figures
		if f, err = measureApart(s, edits); err == nil {
			*into = append(*into, f)
		}
	}
	for _, n := range sizes {
		cost(&r.Sites, scaled(n), edits)
	}
	if last := len(r.Sites) - 1; err == nil && last >= 0 {
		var f figures
		f, err = measureApart(scaled(r.Sites[last].Routes), 0)
		r.Sites[last].Holdings = f.Holdings
	}
	for _, n := range sizes {
		s := scaled(n)
		s.gateways = 1
		cost(&r.Single, s, edits)
	}
	for _, n := range []int{500, 5000} {
		s := scaled(n)
		s.gateways, s.together = 1, true
		cost(&r.Shared, s, max(edits/200, 10))
	}
	if err == nil && len(hosts) > 0 {
		progress("ask hosts of %v rules", hosts)
		r.Hosts, err = measureHosts(ctx, hosts, rounds, 2*time.Second)
	}
	streams := func(s site, proxies int) {
		if err != nil {
			return
		}
		progress("let %d proxies of %d Gateways in", proxies, s.gateways)
		var f streamFigures
		if f, err = measureStreams(ctx, s, proxies); err == nil {
			r.Streams = append(r.Streams, f)
		}
	}
	for _, n := range proxies {
		s := scaled(1000)
		s.gateways = 1
		streams(s, n)
	}
	if len(proxies) > 0 {
		streams(scaled(sizes[len(sizes)-1]), proxies[len(proxies)-1])
	}
	return r, err
}

// orderedSite is a site as a helper is told of it.
type orderedSite struct {
	Routes, Gateways, Services, Endpoints, Edits int
	Together                                     bool
	// Profile has it look at what the heap consists of, and at nothing else: looking takes time.
	Profile bool
}

func (o orderedSite) site() site {
	return site{routes: o.Routes, gateways: o.Gateways, services: o.Services, endpoints: o.Endpoints, together: o.Together}
}

// measureApart measures a site in a process of its own: what that many edits cost, or without any, what the heap consists of.
func measureApart(s site, edits int) (figures, error) {
	var f figures
	helper, err := newHelper(helperMeasure)
	if err != nil {
		return f, err
	}
	order, err := json.Marshal(orderedSite{s.routes, s.gateways, s.services, s.endpoints, edits, s.together, edits == 0})
	if err != nil {
		return f, fmt.Errorf("say what to measure: %w", err)
	}
	helper.Stdin = strings.NewReader(string(order))
	output, err := helper.Output()
	if err != nil {
		return f, fmt.Errorf("measure %d routes: %w", s.routes, err)
	}
	err = json.Unmarshal(output, &f)
	return f, err
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
