package main

// All addresses are from 198.18.0.0/15 and 2001:2::/48, the ranges set aside for benchmarks, and exist only inside
// the cluster's network namespace. A cluster has those of its family.
const (
	nodeName       = "gatewright"
	nodeAddress    = "198.18.0.1"
	nodePrefix     = "198.18.0.1/24"
	podRange       = "198.18.16.0/20"
	serviceRange   = "198.19.0.0/20"
	apiServiceIP   = "198.19.0.1"
	dnsServiceIP   = "198.19.0.10"
	loadBalancers  = "198.18.200.0/24"
	clusterDomain  = "cluster.local"
	etcdEndpoint   = "http://127.0.0.1:2379"
	apiPort        = "6443"
	serviceAccount = "https://kubernetes.default.svc.cluster.local"

	// loadBalancersOnRequest is the part of loadBalancers that is given only to a Service that names the address.
	loadBalancersOnRequest = "198.18.200.240/28"

	nodeAddress6  = "2001:2::1"
	nodePrefix6   = "2001:2::1/64"
	podRange6     = "2001:2:0:10::/64"
	serviceRange6 = "2001:2:0:20::/112"
	apiServiceIP6 = "2001:2:0:20::1"
	dnsServiceIP6 = "2001:2:0:20::a"

	loadBalancers6          = "2001:2:0:c8::/120"
	loadBalancersOnRequest6 = "2001:2:0:c8::f0/124"
)
