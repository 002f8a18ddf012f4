package xds

// Observer is told what proxies do. Its methods must return at once and must not use the cache: they may be called while it is locked.
type Observer interface {
	// Connected and Disconnected come in pairs, one for each stream.
	Connected(proxy Identity)
	Disconnected(proxy Identity)
	// Holds says that a proxy has acknowledged all of a state, as [Cache.Apply] named it, but for refused clusters, listeners and secrets.
	Holds(proxy Identity, state string)
	// Leaves says that a proxy is about to be sent something else than the state it holds.
	Leaves(proxy Identity)
	// Refused says what a proxy does not take.
	Refused(proxy Identity, refusal Refusal)
}

// Refusal is the smallest thing found that a proxy does not take.
type Refusal struct {
	Type Type
	// Name is that of the resource; for a VirtualHost, its domain, and for a RouteTable that of the table, where nothing smaller was found to be the cause.
	Name string
	// Table is the route table that a VirtualHost is part of.
	Table string
	// Routes are the names of the routes of a VirtualHost that are refused; it is empty for other types.
	Routes []string
	// Filters says that it is the configuration of filters in the VirtualHost itself, and none of its routes.
	Filters bool
	// Together says that the proxy takes each of Routes alone, and not all of them.
	Together bool
	// Version is that of the resource. It is the same on every replica that wants the same.
	Version string
	// Reason is the proxy's own.
	Reason string
}

// nobody does not look.
type nobody struct{}

func (nobody) Connected(Identity)        {}
func (nobody) Disconnected(Identity)     {}
func (nobody) Holds(Identity, string)    {}
func (nobody) Leaves(Identity)           {}
func (nobody) Refused(Identity, Refusal) {}
