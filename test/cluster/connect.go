package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// linkName is the name of the link to another cluster, in both network namespaces.
const linkName = "clusters0"

func connectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "connect NAME",
		Short: "Connect the cluster's network with that of the cluster NAME, which has to be at the other site",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return locked(cmd.Context(), func(ctx context.Context, l layout) error { return connect(ctx, l, args[0]) })
		},
	}
}

// connect makes a link between two network namespaces. Nodes, pods and addresses of load balancers of one can then be reached from the
// other. It is gone with either of them.
func connect(ctx context.Context, l layout, name string) error {
	if err := requireRunning(l); err != nil {
		return err
	}
	if err := checkClusterName(name); err != nil {
		return err
	}
	if !exists("/run/netns/" + name) {
		return fmt.Errorf("there is no cluster %s: run up with GATEWRIGHT_CLUSTER=%s first", name, name)
	}
	script := strings.Join([]string{
		"set -e",
		fmt.Sprintf("ip -n %s link show %s >/dev/null 2>&1 || ip link add %s netns %s type veth peer name %s netns %s",
			namespace, linkName, linkName, namespace, linkName, name),
		linkEnd(namespace, here),
		linkEnd(name, here.other()),
	}, "\n")
	_, err := run(ctx, "sh", "-c", script)
	return err
}

// linkEnd gives one end of the link its address, and routes to the other site.
func linkEnd(name string, s site) string {
	commands := []string{
		fmt.Sprintf("ip -n %s addr replace %s/30 dev %s", name, s.end(), linkName),
		fmt.Sprintf("ip -n %s link set %s up", name, linkName),
	}
	for _, to := range []string{s.other().nodes(), s.other().pods(), s.other().loadBalancers()} {
		commands = append(commands, fmt.Sprintf("ip -n %s route replace %s via %s", name, to, s.other().end()))
	}
	return strings.Join(commands, "\n")
}
