package ir

// DefaultClusterDomain is the DNS domain of most clusters.
const DefaultClusterDomain = "cluster.local"
