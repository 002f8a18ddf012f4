package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
)

// controlPlane lists etcd and what Kubernetes runs next to it, in the order in which they start.
func controlPlane(l layout, b binaries) []daemon {
	return []daemon{
		etcdDaemon(l, b.etcd),
		apiServer(l, b.kubernetes),
		{
			name: "kube-controller-manager",
			argv: []string{
				filepath.Join(b.kubernetes, "kube-controller-manager"),
				"--kubeconfig=" + l.kubeconfig("controller-manager"),
				"--authentication-kubeconfig=" + l.kubeconfig("controller-manager"),
				"--authorization-kubeconfig=" + l.kubeconfig("controller-manager"),
				"--bind-address=127.0.0.1",
				"--leader-elect=false",
				"--use-service-account-credentials=true",
				"--service-account-private-key-file=" + l.path("pki", "service-account.key"),
				"--root-ca-file=" + l.path("pki", "ca.crt"),
				"--cluster-signing-cert-file=" + l.path("pki", "ca.crt"),
				"--cluster-signing-key-file=" + l.path("pki", "ca.key"),
				"--kube-api-qps=300",
				"--kube-api-burst=600",
				"--concurrent-deployment-syncs=10",
				"--concurrent-endpoint-syncs=10",
				"--concurrent-service-endpoint-syncs=10",
				"--concurrent-gc-syncs=20",
				"--endpointslice-updates-batch-period=0s",
				"--profiling=false",
			},
		},
		{
			name: "kube-scheduler",
			argv: []string{
				filepath.Join(b.kubernetes, "kube-scheduler"),
				"--kubeconfig=" + l.kubeconfig("scheduler"),
				"--authentication-kubeconfig=" + l.kubeconfig("scheduler"),
				"--authorization-kubeconfig=" + l.kubeconfig("scheduler"),
				"--bind-address=127.0.0.1",
				"--leader-elect=false",
				"--profiling=false",
			},
		},
	}
}

func etcdDaemon(l layout, dir string) daemon {
	return daemon{
		name: "etcd",
		argv: []string{
			filepath.Join(dir, "etcd"),
			"--name=gatewright",
			"--data-dir=" + l.path("etcd"),
			"--listen-client-urls=" + etcdEndpoint,
			"--advertise-client-urls=" + etcdEndpoint,
			"--listen-peer-urls=http://127.0.0.1:2380",
			"--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=gatewright=http://127.0.0.1:2380",
			"--unsafe-no-fsync",
			"--log-level=warn",
			"--quota-backend-bytes=4294967296",
			"--auto-compaction-retention=10m",
		},
		ready: func(ctx context.Context) error { return getOK(ctx, etcdEndpoint+"/health") },
	}
}

func apiServer(l layout, dir string) daemon {
	return daemon{
		name: "kube-apiserver",
		argv: []string{
			filepath.Join(dir, "kube-apiserver"),
			"--etcd-servers=" + etcdEndpoint,
			"--bind-address=" + l.family.first("0.0.0.0", "::"),
			"--advertise-address=" + l.family.node(),
			"--secure-port=" + apiPort,
			"--service-cluster-ip-range=" + l.family.list(serviceRange, serviceRange6),
			"--client-ca-file=" + l.path("pki", "ca.crt"),
			"--tls-cert-file=" + l.path("pki", "apiserver.crt"),
			"--tls-private-key-file=" + l.path("pki", "apiserver.key"),
			"--kubelet-certificate-authority=" + l.path("pki", "ca.crt"),
			"--kubelet-client-certificate=" + l.path("pki", "apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + l.path("pki", "apiserver-kubelet-client.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=" + serviceAccount,
			"--service-account-key-file=" + l.path("pki", "service-account.pub"),
			"--service-account-signing-key-file=" + l.path("pki", "service-account.key"),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--allow-privileged=true",
			// ClusterTrustBundles are a beta of this Kubernetes, and betas are off.
			"--feature-gates=ClusterTrustBundle=true",
			"--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true",
			"--max-requests-inflight=3000",
			"--max-mutating-requests-inflight=1500",
			"--profiling=false",
		},
		ready: func(ctx context.Context) error {
			c, err := client(l)
			if err != nil {
				return err
			}
			_, err = c.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
			if err != nil {
				return fmt.Errorf("ask the API server whether it is ready: %w", err)
			}
			return nil
		},
	}
}

// getOK asks for a page inside the network namespace and expects success.
func getOK(ctx context.Context, url string) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: dialInside, DisableKeepAlives: true}}
	response, err := c.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
