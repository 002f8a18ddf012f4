package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

func kubeconfigCommand() *cobra.Command {
	var content bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Long:  "Print the path of the administrator's kubeconfig. It is of use only inside the cluster's network namespace: see exec and shell.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := findLayout()
			if err != nil {
				return err
			}
			config, err := os.ReadFile(l.adminKubeconfig())
			if err != nil {
				return fmt.Errorf("there is no cluster (run up first): %w", err)
			}
			if content {
				fmt.Print(string(config))
				return nil
			}
			fmt.Println(l.adminKubeconfig())
			return nil
		},
	}
	cmd.Flags().BoolVar(&content, "print", false, "print the content instead of the path")
	return cmd
}

// writeKubeconfigs writes one file for each client of the API server.
func writeKubeconfigs(l layout) error {
	for _, id := range identities {
		if id.isServer {
			continue
		}
		if err := writeKubeconfig(l, id.file); err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", id.file, err)
		}
	}
	return nil
}

func writeKubeconfig(l layout, user string) error {
	read := func(name string) []byte {
		content, err := os.ReadFile(l.path("pki", name))
		if err != nil {
			return nil // the certificates were created one step before
		}
		return content
	}
	config := api.NewConfig()
	config.Clusters["gatewright"] = &api.Cluster{Server: l.family.api(), CertificateAuthorityData: read("ca.crt")}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: read(user + ".crt"), ClientKeyData: read(user + ".key")}
	config.Contexts["gatewright"] = &api.Context{Cluster: "gatewright", AuthInfo: user}
	config.CurrentContext = "gatewright"
	if err := clientcmd.WriteToFile(*config, l.kubeconfig(user)); err != nil {
		return fmt.Errorf("write %s: %w", l.kubeconfig(user), err)
	}
	return nil
}

// client talks to the API server from outside the network namespace.
func client(l layout) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.adminKubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig (is the cluster up?): %w", err)
	}
	config.Dial = dialInside
	config.QPS = -1
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return clientset, nil
}
