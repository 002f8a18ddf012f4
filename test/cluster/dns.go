package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

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
%[3]s  template ANY ANY . {
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

// outsideRecord has the names of that zone lead to the node, in one family.
const outsideRecord = `  template IN %[1]s outside.example {
    answer "{{ .Name }} 5 IN %[1]s %[2]s"
  }
`

func renderCorefile(l layout) string {
	records := strings.Join(l.family.of(fmt.Sprintf(outsideRecord, "A", nodeAddress), fmt.Sprintf(outsideRecord, "AAAA", nodeAddress6)), "")
	return fmt.Sprintf(corefile, clusterDomain, l.kubeconfig("coredns"), records)
}

func coreDNSDaemon(l layout, b binaries) (daemon, error) {
	config := l.path("Corefile")
	return daemon{
		name:  "coredns",
		argv:  []string{filepath.Join(b.coreDNS, "coredns"), "-conf", config},
		ready: func(ctx context.Context) error { return getOK(ctx, "http://127.0.0.1:8181/ready") },
	}, writeFile(config, renderCorefile(l))
}

// applyDNSService puts the cluster's DNS address in front of CoreDNS, which runs on the node.
func applyDNSService(ctx context.Context, l layout) error {
	const name, system = "kube-dns", metav1.NamespaceSystem
	c, err := client(l)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: "gatewright-test-cluster", Force: true}
	spec := applycorev1.ServiceSpec().WithClusterIP(l.family.dns())
	slice := applydiscoveryv1.EndpointSlice(name, system).
		WithLabels(map[string]string{discoveryv1.LabelServiceName: name}).
		WithAddressType(discoveryv1.AddressType(l.family.first("IPv4", "IPv6"))).
		WithEndpoints(applydiscoveryv1.Endpoint().WithAddresses(l.family.node()).
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
func dnsAnswers(server string) func(context.Context) error {
	resolver := &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialInside(ctx, network, net.JoinHostPort(server, "53"))
		},
	}
	return func(ctx context.Context) error {
		name := "kubernetes.default.svc." + clusterDomain + "."
		if _, err := resolver.LookupHost(ctx, name); err != nil {
			return fmt.Errorf("resolve %s: %w", name, err)
		}
		return nil
	}
}
