package ir

// Selector chooses pods by their labels to be the endpoints of an XBackend or an InferencePool.
type Selector struct {
	Backend BackendTarget
	// UID is that of the object, so that what is made for it is owned by it and leaves with it.
	UID    string
	Labels map[string]string
	// Ports are those of the pods. Each port of each pod is an endpoint.
	Ports []int32
}

// XBackendLabel on a Service is the UID of the XBackend it was made for, and InferencePoolLabel that of the InferencePool.
const (
	XBackendLabel      = "gatewright.dev/xbackend-uid"
	InferencePoolLabel = "gatewright.dev/inferencepool-uid"
)
