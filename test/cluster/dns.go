package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applydiscoveryv1 "k8s.io/client-go/applyconfigurations/discovery/v1"
)

// corefile answers for the cluster, has every name of one zone outside of it lead to the node, and says of everything else that it does
// not exist, at once: nothing outside can be reached from here.
const corefile = `%[1]s in-addr.arpa ip6.arpa {
  errors
  ready 127.0.0.1:8181
  kubernetes %[1]s in-addr.arpa ip6.arpa {
    kubeconfig %[2]s
    pods insecure
    ttl 5
  }
}
outside.example {
  errors
  template IN A outside.example {
    answer "{{ .Name }} 5 IN A %[3]s"
  }
  template ANY ANY . {
    rcode NOERROR
  }
}
. {
  errors
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
`

func coreDNSDaemon(l layout, b binaries) (daemon, error) {
	config := l.path("Corefile")
	return daemon{
		name:  "coredns",
		argv:  []string{filepath.Join(b.coreDNS, "coredns"), "-conf", config},
		ready: func(ctx context.Context) error { return getOK(ctx, "http://127.0.0.1:8181/ready") },
	}, writeFile(config, fmt.Sprintf(corefile, clusterDomain, l.kubeconfig("coredns"), nodeAddress))
}

// applyDNSService puts the cluster's DNS address in front of CoreDNS, which runs on the node.
func applyDNSService(ctx context.Context, l layout) error {
	const name, system = "kube-dns", metav1.NamespaceSystem
	c, err := client(l)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: "gatewright-test-cluster", Force: true}
	spec := applycorev1.ServiceSpec().WithClusterIP(dnsServiceIP)
	slice := applydiscoveryv1.EndpointSlice(name, system).
		WithLabels(map[string]string{discoveryv1.LabelServiceName: name}).
		WithAddressType(discoveryv1.AddressTypeIPv4).
		WithEndpoints(applydiscoveryv1.Endpoint().WithAddresses(nodeAddress).
			WithConditions(applydiscoveryv1.EndpointConditions().WithReady(true)))
	for portName, protocol := range map[string]corev1.Protocol{"dns": corev1.ProtocolUDP, "dns-tcp": corev1.ProtocolTCP} {
		spec.WithPorts(applycorev1.ServicePort().WithName(portName).WithPort(53).WithProtocol(protocol))
		slice.WithPorts(applydiscoveryv1.EndpointPort().WithName(portName).WithPort(53).WithProtocol(protocol))
	}
	service := applycorev1.Service(name, system).WithLabels(map[string]string{"k8s-app": name}).WithSpec(spec)
	if _, err := c.CoreV1().Services(system).Apply(ctx, service, options); err != nil {
		return fmt.Errorf("apply Service %s/%s: %w", system, name, err)
	}
	if _, err := c.DiscoveryV1().EndpointSlices(system).Apply(ctx, slice, options); err != nil {
		return fmt.Errorf("apply EndpointSlice %s/%s: %w", system, name, err)
	}
	return nil
}

// dnsAnswers asks for a name through the address that pods use, so it proves kube-proxy as well.
func dnsAnswers(ctx context.Context) error {
	resolver := &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialInside(ctx, network, net.JoinHostPort(dnsServiceIP, "53"))
		},
	}
	name := "kubernetes.default.svc." + clusterDomain + "."
	if _, err := resolver.LookupHost(ctx, name); err != nil {
		return fmt.Errorf("resolve %s: %w", name, err)
	}
	return nil
}
