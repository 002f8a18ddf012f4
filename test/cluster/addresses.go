package main

import (
	"fmt"
	"os"
)

// All addresses are from 198.18.0.0/15 and 2001:2::/48, the ranges reserved for benchmarks, and exist only inside
// the network namespaces of clusters. A cluster has those of its family.
const (
	nodeName       = "gatewright"
	clusterDomain  = "cluster.local"
	etcdEndpoint   = "http://127.0.0.1:2379"
	apiPort        = "6443"
	serviceAccount = "https://kubernetes.default.svc." + clusterDomain

	nodeAddress6  = "2001:2::1"
	nodePrefix6   = "2001:2::1/64"
	podRange6     = "2001:2:0:10::/64"
	serviceRange6 = "2001:2:0:20::/112"
	apiServiceIP6 = "2001:2:0:20::1"
	dnsServiceIP6 = "2001:2:0:20::a"

	loadBalancers6          = "2001:2:0:c8::/120"
	loadBalancersOnRequest6 = "2001:2:0:c8::f0/124"
)

// site says which IPv4 addresses a cluster has. Clusters that are to be connected need different ones. Like the cluster's name, the
// variable has to be set for every command.
type site int

// The sites, as GATEWRIGHT_SITE names them.
const (
	firstSite  site = 0 // "", "1"
	secondSite site = 1 // "2"
)

func parseSite(text string) (site, error) {
	switch text {
	case "", "1":
		return firstSite, nil
	case "2":
		return secondSite, nil
	default:
		return firstSite, fmt.Errorf("GATEWRIGHT_SITE is %q: use 1 or 2", text)
	}
}

// other is the site that this one can be connected with.
func (s site) other() site { return secondSite - s }

func (s site) node() string          { return fmt.Sprintf("198.18.%d.1", s) }
func (s site) nodePrefix() string    { return s.node() + "/24" }
func (s site) nodes() string         { return fmt.Sprintf("198.18.%d.0/24", s) }
func (s site) pods() string          { return fmt.Sprintf("198.18.%d.0/20", 16+16*s) }
func (s site) services() string      { return fmt.Sprintf("198.19.%d.0/20", 16*s) }
func (s site) apiService() string    { return fmt.Sprintf("198.19.%d.1", 16*s) }
func (s site) dnsService() string    { return fmt.Sprintf("198.19.%d.10", 16*s) }
func (s site) loadBalancers() string { return fmt.Sprintf("198.18.%d.0/24", 200+s) }

// loadBalancersOnRequest is the part of loadBalancers that is given only to a Service that names the address.
func (s site) loadBalancersOnRequest() string { return fmt.Sprintf("198.18.%d.240/28", 200+s) }

// end is the site's address on the link between two clusters.
func (s site) end() string { return fmt.Sprintf("198.18.255.%d", 1+s) }

// here is the site of this cluster. What is wrong with the variable, [findLayout] says.
var here, _ = parseSite(os.Getenv("GATEWRIGHT_SITE"))

var (
	nodeAddress            = here.node()
	nodePrefix             = here.nodePrefix()
	podRange               = here.pods()
	serviceRange           = here.services()
	apiServiceIP           = here.apiService()
	dnsServiceIP           = here.dnsService()
	loadBalancers          = here.loadBalancers()
	loadBalancersOnRequest = here.loadBalancersOnRequest()
)
