package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// hostFigures is what a host of that many rules serves on one thread of Envoy when the last rule is asked for, as a list and as it is
// translated: requests in a second and processor time of Envoy for each.
type hostFigures struct {
	Rules            int
	Tree             bool
	ListRate, Rate   float64
	ListCPU, CPU     time.Duration
	ListBytes, Bytes int
	Translation      time.Duration
}

// measureHosts asks hosts of different sizes in turn, several times, and keeps the middle of each figure.
func measureHosts(ctx context.Context, sizes []int, rounds int, load time.Duration) ([]hostFigures, error) {
	binary := os.Getenv("ENVOY")
	if binary == "" {
		return nil, errors.New("ENVOY is not set to the path of an Envoy; run make scale")
	}
	results := make([]hostFigures, len(sizes))
	hosts := make([]*routev3.VirtualHost, 0, 2*len(sizes))
	for i, n := range sizes {
		list, form, took := hostOf(n)
		results[i] = hostFigures{
			Rules: n, Tree: form.GetMatcher() != nil, ListBytes: proto.Size(list), Bytes: proto.Size(form), Translation: took,
		}
		hosts = append(hosts, list, form)
	}
	e, err := startEnvoy(ctx, binary, hosts)
	if err != nil {
		return nil, err
	}
	defer e.stop()
	rates, cpus := make([][]float64, len(hosts)), make([][]time.Duration, len(hosts))
	for range rounds {
		for i, host := range hosts {
			rate, cpu, err := e.load(ctx, host.GetDomains()[0], lastPath(sizes[i/2]), load)
			if err != nil {
				return nil, err
			}
			rates[i], cpus[i] = append(rates[i], rate), append(cpus[i], cpu)
		}
	}
	for i := range results {
		results[i].ListRate, results[i].Rate = middle(rates[2*i]), middle(rates[2*i+1])
		results[i].ListCPU, results[i].CPU = middle(cpus[2*i]), middle(cpus[2*i+1])
	}
	return results, nil
}

func middle[T float64 | time.Duration](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

func lastPath(rules int) string { return fmt.Sprintf("/service/path-%d", rules-1) }

// hostOf is a host with that many rules as a list, and as it is translated.
func hostOf(rules int) (list, form *routev3.VirtualHost, took time.Duration) {
	host := ir.VirtualHost{Domain: fmt.Sprintf("tree-%d", rules)}
	for i := range rules {
		host.Rules = append(host.Rules, ir.Rule{
			Name:  fmt.Sprintf("HTTPRoute/apps/route-%d/0/0", i),
			Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: fmt.Sprintf("/service/path-%d", i)}},
			Fail:  &ir.Fail{StatusCode: 200},
		})
	}
	start := time.Now()
	form, _ = routetranslate.VirtualHost(host)
	took = time.Since(start)
	list = &routev3.VirtualHost{Name: "list", Domains: []string{fmt.Sprintf("list-%d", rules)}}
	list.Name = list.Domains[0]
	for i := range host.Rules {
		one, _ := routetranslate.VirtualHost(ir.VirtualHost{Domain: host.Domain, Rules: host.Rules[i : i+1]})
		list.Routes = append(list.Routes, one.GetRoutes()...)
	}
	return list, form, took
}

// envoy is a proxy with one thread on a port of this machine.
type envoy struct {
	process   *exec.Cmd
	port      int
	directory string
}

func startEnvoy(ctx context.Context, binary string, hosts []*routev3.VirtualHost) (*envoy, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "scale")
	if err != nil {
		return nil, fmt.Errorf("make a directory for Envoy: %w", err)
	}
	text, err := protojson.Marshal(&bootstrapv3.Bootstrap{StaticResources: &bootstrapv3.Bootstrap_StaticResources{
		Listeners: []*listenerv3.Listener{serving(port, hosts)},
	}})
	if err != nil {
		return nil, fmt.Errorf("write Envoy's configuration: %w", err)
	}
	config := filepath.Join(directory, "envoy.json")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return nil, fmt.Errorf("write Envoy's configuration: %w", err)
	}
	//nolint:gosec // the path of the binary is what the user of the command chooses
	e := &envoy{port: port, directory: directory, process: exec.Command(
		binary, "--config-path", config, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error",
	)}
	e.process.Stderr = os.Stderr
	e.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.process.Start(); err != nil {
		return nil, fmt.Errorf("start Envoy: %w", err)
	}
	for range 500 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = conn.Close()
			return e, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	e.stop()
	return nil, errors.New("the proxy does not listen")
}

func (e *envoy) stop() {
	_ = e.process.Process.Kill()
	_ = e.process.Wait()
	_ = os.RemoveAll(e.directory)
}

var rateLine = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// load sends requests for a path as fast as they are answered.
func (e *envoy) load(ctx context.Context, host, path string, how time.Duration) (rate float64, cpu time.Duration, err error) {
	before, start := e.processorTime(), time.Now()
	var output bytes.Buffer
	//nolint:gosec // the arguments are our own
	wrk := exec.CommandContext(ctx, "wrk", "-t1", "-c16", "-d"+how.String(), "-H", "Host: "+host, fmt.Sprintf(
		"http://127.0.0.1:%d%s", e.port, path,
	))
	wrk.Stdout = &output
	if err := wrk.Run(); err != nil {
		return 0, 0, fmt.Errorf("send load with wrk: %w", err)
	}
	if strings.Contains(output.String(), "Non-2xx") {
		return 0, 0, fmt.Errorf("not all answers were good:\n%s", output.String())
	}
	elapsed := time.Since(start)
	found := rateLine.FindStringSubmatch(output.String())
	if found == nil {
		return 0, 0, fmt.Errorf("wrk said:\n%s", output.String())
	}
	rate, err = strconv.ParseFloat(found[1], 64)
	return rate, time.Duration(float64(e.processorTime()-before) / (rate * elapsed.Seconds())), err
}

// processorTime is what Envoy has used; the clock that it is counted in ticks 100 times in a second.
func (e *envoy) processorTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.process.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
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

func serving(port int, hosts []*routev3.VirtualHost) *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     "http",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: "routes", VirtualHosts: hosts}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&routerv3.Router{})},
		}},
	}
	return &listenerv3.Listener{
		Name: "http",
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)}, //nolint:gosec // a TCP port
		}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wire.Any(manager)},
		}}}},
	}
}
