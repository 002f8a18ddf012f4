package xds

// Observer receives the events of proxies. Its methods must return at once and must not use the cache: they may be called while it is
// locked.
type Observer interface {
	// Connected and Disconnected come in pairs, one for each stream.
	Connected(proxy Identity)
	Disconnected(proxy Identity)
	// Holds reports that a proxy has acknowledged all of a state, as [Cache.Apply] named it, except for what it NACKed and NACKed reported.
	Holds(proxy Identity, state string)
	// Leaves reports that a proxy is about to be sent another state than the one it holds.
	Leaves(proxy Identity)
	// NACKed reports what a proxy rejects.
	NACKed(proxy Identity, nack NACK)
}

// NACK is the smallest part of a configuration that a proxy was found to reject.
type NACK struct {
	Type Type
	// Name is the name of the resource, or the domain of a VirtualHost. A NACK of a RouteTable names the table, if no part of it was found
	// to be the culprit.
	Name string
	// Table is the route table that a VirtualHost is part of.
	Table string
	// Routes are the names of the rejected routes of a VirtualHost; it is empty for other types.
	Routes []string
	// Filters reports that the proxy rejects the filter configuration of the VirtualHost itself, not a route.
	Filters bool
	// Together reports that the proxy accepts each of Routes alone, but not all of them.
	Together bool
	// Version is that of the resource. It is the same in every replica that serves the same content.
	Version string
	// Reason is the text of the proxy's NACK.
	Reason string
	// Origins are those of the rejected version of a Cluster, Listener or Secret; see [Change.Origins].
	Origins []string
	// FellBack reports that all proxies of this server get the last good version of a Cluster, Listener or Secret instead, until it changes.
	FellBack bool
	// Cluster is the NACKed cluster that a VirtualHost names, if that is why it is rejected.
	Cluster ClusterVersion
}

// ClusterVersion is a version of a cluster.
type ClusterVersion struct{ Name, Version string }

// noObserver ignores all events.
type noObserver struct{}

func (noObserver) Connected(Identity)     {}
func (noObserver) Disconnected(Identity)  {}
func (noObserver) Holds(Identity, string) {}
func (noObserver) Leaves(Identity)        {}
func (noObserver) NACKed(Identity, NACK)  {}
