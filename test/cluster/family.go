package main

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// family is which IP families the node, the pods and the Services have. What only the node's own processes use, such as etcd, is always
// at 127.0.0.1.
type family string

const (
	ipv4 family = "ipv4"
	ipv6 family = "ipv6"
	dual family = "dual" // IPv4 is the first
)

func parseFamily(text string) (family, error) {
	switch f := family(text); f {
	case ipv4, ipv6, dual:
		return f, nil
	default:
		return "", fmt.Errorf("family %q is not ipv4, ipv6 or dual", text)
	}
}

// of picks from two values, one for each family.
func (f family) of(four, six string) []string {
	switch f {
	case ipv6:
		return []string{six}
	case dual:
		return []string{four, six}
	default:
		return []string{four}
	}
}

// list is of, as Kubernetes writes lists in flags.
func (f family) list(four, six string) string { return strings.Join(f.of(four, six), ",") }

// first is for what can have one address only.
func (f family) first(four, six string) string { return f.of(four, six)[0] }

// node is the address by which the node is known first.
func (f family) node() string { return f.first(nodeAddress, nodeAddress6) }

// dns is where pods ask for names.
func (f family) dns() string { return f.first(dnsServiceIP, dnsServiceIP6) }

// api is where the API server answers.
func (f family) api() string { return "https://" + net.JoinHostPort(f.node(), apiPort) }

// readFamily is the family of the cluster whose state is here, ipv4 if there is none.
func (l layout) readFamily() family {
	content, err := os.ReadFile(l.path("family"))
	if f, wrong := parseFamily(string(content)); err == nil && wrong == nil {
		return f
	}
	return ipv4
}

// withFamily is the layout of a cluster that is to have a family. One that exists keeps its own.
func (l layout) withFamily(wanted string) (layout, error) {
	f, err := parseFamily(wanted)
	if err != nil {
		return layout{}, err
	}
	if exists(l.path("pki")) && f != l.family {
		return layout{}, fmt.Errorf("there is a cluster of family %s in %s: run down first, or up with --family=%s", l.family, l.state, l.family)
	}
	l.family = f
	return l, nil
}
