package main

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// containerdConfig works without CAP_SYS_RESOURCE (restrict_oom_score_adj) and keeps every path,
// the pods' network namespaces included, where down finds it.
const containerdConfig = `version = 2
root = %[1]q
state = %[2]q
disabled_plugins = ["io.containerd.internal.v1.restart", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = %[3]q
[plugins."io.containerd.internal.v1.opt"]
  path = %[4]q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[5]q
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = %[8]q
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[6]q
    conf_dir = %[7]q
`

// networkConfig gives each pod a link of its own to the node, which routes: traffic between pods
// passes the node's connection tracking, which Services need.
const networkConfig = `{
  "cniVersion": "0.4.0",
  "name": "gatewright",
  "plugins": [{
    "type": "ptp",
    "ipMasq": false,
    "ipam": {
      "type": "host-local",
      "dataDir": %q,
      "ranges": [%s],
      "routes": [%s]
    }
  }]
}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: "%[1]s"
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[2]s/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: %[2]s/kubelet-server.crt
tlsPrivateKeyFile: %[2]s/kubelet-server.key
containerRuntimeEndpoint: unix://%[3]s
cgroupDriver: cgroupfs
cgroupRoot: /%[4]s
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: [pods]
clusterDNS: ["%[5]s"]
clusterDomain: %[6]s
resolvConf: ""
podLogsDir: %[7]s
maxPods: 250
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
kubeAPIQPS: 300
kubeAPIBurst: 600
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  memory.available: 100Mi
  nodefs.available: 1%%
  nodefs.inodesFree: 1%%
  imagefs.available: 1%%
`

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
bindAddress: "%[1]s"
clusterCIDR: "%[2]s"
clientConnection: {kubeconfig: %[3]s, qps: 300, burst: 600}
conntrack: {maxPerCore: 0, min: 0}
nftables: {minSyncPeriod: 100ms}
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
`

// writeNodeConfigs writes what containerd, the kubelet and kube-proxy read at their start.
func writeNodeConfigs(l layout) error {
	files := map[string]string{
		l.path("containerd.toml"): fmt.Sprintf(containerdConfig, l.path("containerd"), filepath.Join(runDir, "containerd"),
			containerdSocket(), l.path("containerd-opt"), pauseImage, pluginDir(), l.path("cni"), filepath.Join(runDir, "runc")),
		l.path("cni", "10-gatewright.conflist"): fmt.Sprintf(networkConfig, l.path("cni-addresses"), podRanges(l.family), podRoutes(l.family)),
		l.path("kubelet.yaml"): fmt.Sprintf(kubeletConfig, l.family.node(), l.path("pki"), containerdSocket(),
			cgroupName, l.family.dns(), clusterDomain, l.path("pods")),
		l.path("kube-proxy.yaml"): fmt.Sprintf(proxyConfig, l.family.node(), l.family.list(podRange, podRange6), l.kubeconfig("kube-proxy")),
	}
	for path, content := range files {
		if err := writeFile(path, content); err != nil {
			return err
		}
	}
	return nil
}

// podRanges gives each pod an address of each family.
func podRanges(f family) string {
	return f.list(fmt.Sprintf(`[{"subnet": %q}]`, podRange), fmt.Sprintf(`[{"subnet": %q}]`, podRange6))
}

func podRoutes(f family) string { return f.list(`{"dst": "0.0.0.0/0"}`, `{"dst": "::/0"}`) }

func containerd(l layout) daemon {
	return daemon{
		name: "containerd",
		argv: []string{"containerd", "--config", l.path("containerd.toml")},
		ready: func(ctx context.Context) error {
			_, err := run(ctx, "ctr", "--address", containerdSocket(), "--timeout", "2s", "version")
			return err
		},
	}
}

func kubelet(l layout, b binaries) daemon {
	return daemon{
		name: "kubelet",
		argv: []string{
			filepath.Join(b.kubernetes, "kubelet"),
			"--config=" + l.path("kubelet.yaml"),
			"--kubeconfig=" + l.kubeconfig("kubelet"),
			"--hostname-override=" + nodeName,
			"--node-ip=" + l.family.list(nodeAddress, nodeAddress6),
			"--root-dir=" + l.path("kubelet"),
		},
	}
}

func kubeProxy(l layout, b binaries) daemon {
	return daemon{
		name: "kube-proxy",
		argv: []string{
			filepath.Join(b.kubernetes, "kube-proxy"),
			"--config=" + l.path("kube-proxy.yaml"),
			"--hostname-override=" + nodeName,
		},
		ready: func(ctx context.Context) error { return getOK(ctx, "http://127.0.0.1:10256/livez") },
	}
}

// nodeReady says why the node takes no pods yet.
func nodeReady(l layout) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := client(l)
		if err != nil {
			return err
		}
		node, err := c.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("look up the node: %w", err)
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
			if condition.Type == corev1.NodeReady {
				return fmt.Errorf("node %s is not ready: %s", nodeName, condition.Message)
			}
		}
		return fmt.Errorf("node %s has not reported yet", nodeName)
	}
}
