package ir

// How an endpoint picker and a proxy tell each other of endpoints. The standard (endpoint picker protocol) defines the names.
const (
	// DestinationEndpoint is the header, and the key of the metadata, in which a picker names endpoints, the best first.
	DestinationEndpoint = "x-gateway-destination-endpoint"
	// DestinationEndpointServed is the key of the metadata in which a proxy names the endpoint that it chose.
	DestinationEndpointServed = "x-gateway-destination-endpoint-served"
	// DestinationMetadata is the namespace of both keys.
	DestinationMetadata = "envoy.lb"
	// SubsetMetadata is the namespace of the metadata that says which endpoints a picker may choose from.
	SubsetMetadata = "envoy.lb.subset_hint"
)

// EndpointPicker is a server that chooses the endpoints of an InferencePool for each request.
type EndpointPicker struct {
	Backend Backend
	// Broken says that there is no server that could be asked. A route must know: the moment a server appears, the cluster of the pool is
	// there before the route that asks it.
	Broken bool `json:",omitempty"`
	// FailOpen lets the proxy choose an endpoint while the server cannot be reached.
	FailOpen bool
}

func (p *EndpointPicker) needs(n *Needs) {
	if p != nil && !p.Broken {
		n.backend(p.Backend)
	}
}
