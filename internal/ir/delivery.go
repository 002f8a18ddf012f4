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

// ByHost says whether each virtual host of a chain is looked up by itself, so that adding one costs the same however many there are.
// It depends on nothing that routes can change: the filter chain would be replaced, and every connection on it closed when it has drained.
// Files are replaced as a whole, so that there is nothing to gain from scopes.
func (d Delivery) ByHost(c Chain) bool { return d != Files && !c.RouteTable.IsZero() }
