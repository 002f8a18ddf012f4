package ir

// Delivery is how configuration reaches the proxies of a Gateway.
type Delivery string

// The ways there are.
const (
	// XDS streams it from the control plane.
	XDS Delivery = ""
	// Files lays it into the proxies' pods as files, so that no proxy ever connects to the control plane.
	Files Delivery = "Files"
)
