//go:build translation

package translation

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// timeout is how long something may take on a busy machine. An Envoy that ends is noticed at once.
const timeout = 2 * time.Minute

// runEnvoy runs Envoy until the test ends, and returns the address of its only listener, whose port is 0 in the bootstrap.
// replace are texts in the bootstrap and what stands there instead.
func runEnvoy(t testing.TB, bootstrap *bootstrapv3.Bootstrap, replace ...string) string {
	t.Helper()
	address, _ := startEnvoy(t, bootstrap, replace...)
	return address
}

// startEnvoy is runEnvoy, and returns the process too.
func startEnvoy(t testing.TB, bootstrap *bootstrapv3.Bootstrap, replace ...string) (address string, process int) {
	t.Helper()
	binary := os.Getenv("ENVOY")
	if binary == "" {
		t.Fatal("ENVOY is not set to the path of an Envoy; run make translation")
	}
	directory := t.TempDir()
	admin := filepath.Join(directory, "admin.sock")
	bootstrap.Admin = &bootstrapv3.Admin{Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: admin}}}}
	bootstrap.Node = &corev3.Node{Id: "test", Cluster: "test"} // whatever is discovered needs one
	config, log := filepath.Join(directory, "bootstrap.pb"), filepath.Join(directory, "envoy.log")
	// As in xDS: of JSON, Envoy reads less that is nested.
	content, err := proto.Marshal(bootstrap)
	if len(replace) > 0 {
		config = filepath.Join(directory, "bootstrap.json")
		content, err = protojson.Marshal(bootstrap)
		content = []byte(strings.NewReplacer(replace...).Replace(string(content)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, content, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // the path of the binary is what the user of the test chooses
	command := exec.CommandContext(t.Context(), binary, "--config-path", config, "--concurrency", "1", "--disable-hot-restart",
		"--log-level", "warn")
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		_ = command.Wait()
		_ = output.Close()
		close(gone)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-gone
	})
	for deadline := time.After(timeout); ; {
		if address := listening(t.Context(), admin); address != "" {
			return address, command.Process.Pid
		}
		var problem string
		select {
		case <-gone:
			problem = "Envoy ended"
		case <-deadline:
			problem = "Envoy does not listen after " + timeout.String()
		case <-time.After(50 * time.Millisecond):
			continue
		}
		words, _ := os.ReadFile(log)
		t.Fatalf("%s: %s", problem, words)
	}
}

// listening is the address of the only listener, empty until it accepts connections. Envoy lists a listener before it does.
func listening(ctx context.Context, admin string) string {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", admin)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/listeners", http.NoBody)
	if err != nil {
		return ""
	}
	response, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	_, address, found := strings.Cut(strings.TrimSpace(string(body)), "::")
	if err != nil || !found {
		return ""
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return ""
	}
	_ = conn.Close()
	return address
}
