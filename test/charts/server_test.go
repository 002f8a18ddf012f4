//go:build charts

package charts

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The API server, for its administrator: by a file that helm and kubectl read, and by a client.
var (
	kubeconfig string
	cluster    client.Client
)

func TestMain(m *testing.M) {
	code, err := withServer(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// withServer runs tests while there is an API server.
func withServer(tests func() int) (code int, err error) {
	runtime.LockOSThread() // the processes end with the thread that started them
	dir, err := os.MkdirTemp("", "gatewright-charts-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var ports [3]string
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return 1, err
		}
	}
	stop, err := startServer(dir, ports)
	defer stop()
	if err != nil {
		return 1, err
	}
	return tests(), nil
}

func startServer(dir string, ports [3]string) (stop func(), err error) {
	var processes []*exec.Cmd
	stop = func() {
		for i := len(processes) - 1; i >= 0; i-- {
			_ = processes[i].Process.Kill()
			_ = processes[i].Wait()
		}
	}
	key := filepath.Join(dir, "key.pem")
	if err := writeKey(key); err != nil {
		return stop, err
	}
	token := rand.Text()
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return stop, err
	}
	kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
contexts: [{name: test, context: {cluster: test, user: admin}}], users: [{name: admin, user: {token: %s}}],
clusters: [{name: test, cluster: {server: "https://127.0.0.1:%s", insecure-skip-tls-verify: true}}]}`, token, ports[2])), 0o600); err != nil {
		return stop, err
	}
	etcd, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	for _, argv := range [][]string{
		{
			"etcd", "--name=test", "--data-dir=" + filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=error",
			"--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=test=" + peer,
		},
		{
			"kube-apiserver", "--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + ports[2],
			"--cert-dir=" + dir, "--token-auth-file=" + tokens, "--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount",
			"--watch-cache=false", // a cache that is not filled yet holds up the deletion of definitions, for minutes
			"--service-account-issuer=https://127.0.0.1", "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		},
	} {
		process := exec.Command(argv[0], argv[1:]...)
		process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		output, err := os.Create(filepath.Join(dir, argv[0]+".log"))
		if err != nil {
			return stop, err
		}
		process.Stdout, process.Stderr = output, output
		err = process.Start()
		_ = output.Close() // the process has its own
		if err != nil {
			return stop, fmt.Errorf("start %s: %w", argv[0], err)
		}
		processes = append(processes, process)
	}
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if _, err = command(context.Background(), "", "kubectl", "get", "--raw=/readyz"); err == nil {
			cluster, err = newClient()
			return stop, err
		}
		if time.Now().After(deadline) {
			output, _ := os.ReadFile(filepath.Join(dir, "kube-apiserver.log"))
			return stop, fmt.Errorf("the API server does not get ready: %w\n%s", err, output[max(0, len(output)-4096):])
		}
	}
}

func newClient() (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	log.SetLogger(logr.Discard())
	return client.New(config, client.Options{})
}

func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return os.WriteFile(path, text, 0o600)
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// command runs helm or kubectl and returns what it prints, which is also in the error.
func command(ctx context.Context, stdin string, argv ...string) (string, error) {
	process := exec.CommandContext(ctx, argv[0], argv[1:]...)
	process.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+filepath.Dir(kubeconfig)) // they keep what they discover at home
	process.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	process.Stdout, process.Stderr = &stdout, &stderr
	if err := process.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
