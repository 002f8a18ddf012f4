package ir

import "time"

// Proxies is how the proxies of a fleet are run, as far as it is set. Whatever is left out is for the renderer to choose.
type Proxies struct {
	// DaemonSet runs one on each node, instead of a Deployment with Replicas.
	DaemonSet   bool
	Replicas    *int32
	Autoscaling *Autoscaling
	Disruption  *Disruption
	Pod         Pod
	Service     Service
	// Concurrency is the number of threads in each proxy, and Connections how many clients it holds at a time.
	Concurrency *int32
	Connections *int64
	Metrics     Metrics
	Drain       Drain
	GeoIP       GeoDatabases
	Patches     Patches
}

// RawJSON is a piece of a Kubernetes object, in JSON, that goes into the fleet's objects as it is. Pieces that mean the same are the
// same bytes.
type RawJSON string

// Autoscaling lets the number of proxies follow the load.
type Autoscaling struct {
	// Min is nil where it is not set.
	Min *int32
	Max int32
	// Metrics is a list of `autoscaling/v2` MetricSpecs, Behavior a HorizontalPodAutoscalerBehavior.
	Metrics  RawJSON
	Behavior RawJSON
}

// Disruption is how many proxies may be evicted at a time. Exactly one field is set, to a number or a percentage.
type Disruption struct {
	MinAvailable   string
	MaxUnavailable string
}

// Pod is what the pods of a fleet are like.
type Pod struct {
	Image string
	// PullSecrets are names of Secrets.
	PullSecrets []string
	// Resources are nil where it is not set.
	Resources    *Resources
	Labels       map[string]string
	Annotations  map[string]string
	NodeSelector map[string]string
	// Affinity is an Affinity of Kubernetes, Tolerations a list of them, and Spread a list of TopologySpreadConstraints, `[]` for none.
	Affinity      RawJSON
	Tolerations   RawJSON
	Spread        RawJSON
	PriorityClass string
	// HostPorts opens the ports of the Gateway on the nodes.
	HostPorts bool
	// AssignedUser leaves it to the cluster as which user the pods run.
	AssignedUser bool
}

// Resources are quantities of Kubernetes by the name of the resource.
type Resources struct {
	Requests map[string]string
	Limits   map[string]string
	// MemoryLimit is the limit of memory in bytes, and zero if there is none.
	MemoryLimit int64
}

// Service is how a fleet is reached.
type Service struct {
	// Type is `LoadBalancer`, `NodePort` or `ClusterIP`; empty where it is not set.
	Type              string
	Annotations       map[string]string
	LoadBalancerClass string
	SourceRanges      []string
	// ExternalPolicy and InternalPolicy are `Cluster` or `Local`; empty where it is not set.
	ExternalPolicy string
	InternalPolicy string
	// NodePorts are the nodes' ports by [Port.ID], or `<number>/udp`, of the Gateway's.
	NodePorts map[string]int32
	// Families are `IPv4` or `IPv6`, and FamilyPolicy is a policy of Kubernetes.
	Families     []string
	FamilyPolicy string
}

// Metrics is what proxies count, and for whom.
type Metrics struct {
	// Hidden serves no metrics, and Backends counts for each backend too.
	Hidden   bool
	Backends bool
}

// Drain is how a proxy that is to end lets go of its clients. Nil means that it is not set.
type Drain struct {
	// Delay is how long it goes on as if nothing were, Timeout how long requests and connections may then take to finish.
	Delay   *time.Duration
	Timeout *time.Duration
}

// Patches are strategic merge patches of a fleet's objects, in JSON; empty for none.
type Patches struct {
	// Workload is for the Deployment or the DaemonSet, whichever runs the proxies.
	Workload RawJSON
	Service  RawJSON
}
