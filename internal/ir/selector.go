package ir

// Selector chooses pods by their labels to be the endpoints of an XBackend.
type Selector struct {
	Backend Name
	// UID is the XBackend's, so that what is made for it is owned by it and leaves with it.
	UID    string
	Labels map[string]string
	Port   int32
}
