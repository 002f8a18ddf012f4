package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const nodeBridge = "node0"

var (
	namespace     = clusterName
	namespacePath = "/run/netns/" + namespace
)

// createNamespace makes the network namespace with the node's address on a bridge of its own.
// Every step can be repeated on a namespace that is already complete.
func createNamespace(ctx context.Context, f family) error {
	if !isNamespace(namespacePath) {
		if err := deleteNamespace(ctx); err != nil {
			return err
		}
		if _, err := run(ctx, "ip", "netns", "add", namespace); err != nil {
			return err
		}
	}
	script := []string{
		"set -e",
		"ip link set lo up",
		"ip link show " + nodeBridge + " >/dev/null 2>&1 || ip link add " + nodeBridge + " type bridge",
		"ip link set " + nodeBridge + " up",
		"echo 1 > /proc/sys/net/ipv4/ip_forward",
		"echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet",
	}
	script = append(script, familyScript(f)...)
	script = append(script, "nft -f - <<'END'\n"+unassigned+"END")
	_, err := run(ctx, insideNamespace("sh", "-c", strings.Join(script, "\n"))...)
	return err
}

// unassigned refuses connections to ports of load balancers that no Service has, as load balancers do. Without it such a packet would leave
// by the default route. The node would remember its connection for two minutes, without the address of an endpoint, and lose the next
// connection from the same port even though a Service has the port by then.
var unassigned = fmt.Sprintf(`add table inet unassigned
flush table inet unassigned
table inet unassigned {
	chain refuse {
		ip daddr %[1]s meta l4proto tcp reject with tcp reset
		ip daddr %[1]s reject
		ip6 daddr %[2]s meta l4proto tcp reject with tcp reset
		ip6 daddr %[2]s reject
	}
	chain output { type filter hook output priority filter; jump refuse; }
	chain forward { type filter hook forward priority filter; jump refuse; }
}
`, loadBalancers, loadBalancers6)

// familyScript gives the node its addresses. No one else can have those of IPv6, so the node does not ask (DAD) and can use them at once,
// as well as those of the links to pods.
func familyScript(f family) []string {
	var script []string
	if f != ipv6 {
		script = append(script,
			"ip addr replace "+nodePrefix+" dev "+nodeBridge,
			"ip route replace default dev "+nodeBridge)
	}
	if f != ipv4 {
		script = append(script,
			"echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad",
			"echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad",
			"ip addr replace "+nodePrefix6+" dev "+nodeBridge+" nodad",
			"ip -6 route replace default dev "+nodeBridge,
			"echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")
	}
	return script
}

// deleteNamespace removes the namespace, and with it the bridge and what is left of the pods' links.
func deleteNamespace(ctx context.Context) error {
	if !exists(namespacePath) {
		return nil
	}
	_, err := run(ctx, "ip", "netns", "delete", namespace)
	return err
}

// insideNamespace wraps a command. `ip netns exec` would not do: it mounts /sys anew, where the
// kubelet no longer finds its cgroups.
func insideNamespace(argv ...string) []string {
	return append([]string{"nsenter", "--net=" + namespacePath, "--"}, argv...)
}

// dialInside opens a connection from inside the namespace while the caller stays outside.
func dialInside(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// Never unlocked: the thread stays in the namespace and has to end with this goroutine.
		runtime.LockOSThread()
		if err := enterNamespace(); err != nil {
			done <- result{err: err}
			return
		}
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

func enterNamespace() (err error) {
	f, err := os.Open(namespacePath)
	if err != nil {
		return fmt.Errorf("open the cluster's network namespace (is the cluster up?): %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", namespace, err)
	}
	return nil
}
