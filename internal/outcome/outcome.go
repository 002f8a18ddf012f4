package outcome

// State is a condition's status.
type State string

// The states of a condition, spelled as Kubernetes spells them.
const (
	True    State = "True"
	False   State = "False"
	Unknown State = "Unknown"
	// Unsettled says that this is not known yet: what was said before stays, and is Unknown where nothing was.
	Unsettled State = "Unsettled"
)

// RouteProgrammed is the condition of a route at a parent that says whether the proxies serve its present generation. The standard
// has it for Gateways and listeners only, so it has a name of our own; routes have it by the plain name [Programmed] as well, since
// tools look for that.
const RouteProgrammed = "gatewright.dev/Programmed"

// Programmed is the standard's name.
const Programmed = "Programmed"

// DefaultGateway is the condition of a Gateway that asks to be a default one (GEP-3793). The Go module of the standard has no name for it.
const DefaultGateway = "DefaultGateway"

// NotAttached is the reason of that condition for a route that a parent does not take.
const NotAttached = "NotAttached"

// ListenerNotProgrammed is the reason of that condition for a route whose listeners cannot be served, or a policy on such a
// listener.
const ListenerNotProgrammed = "ListenerNotProgrammed"

// Refused is the reason of that condition for what a proxy does not take.
const Refused = "Refused"

// MaxAncestors is how many ancestors the status of a policy can have.
const MaxAncestors = 16

// InternalError is the reason of a condition for what Gatewright itself fails to process. Each is a bug.
const InternalError = "InternalError"

// Condition is one condition of a status. Type and Reason are the words of the standard; Message is for people and says what to do next.
type Condition struct {
	Type    string
	State   State
	Reason  string
	Message string
}

// Class is what became of a GatewayClass.
type Class struct {
	Generation int64
	Conditions []Condition
	// Features is the sorted list of supported features.
	Features []string
}

// Gateway is what became of a Gateway and of each of its listeners.
type Gateway struct {
	Generation int64
	Conditions []Condition
	// Addresses are where the fleet can be reached.
	Addresses []Address
	// Listeners are in the order of the Gateway's spec.
	Listeners []Listener
	// AttachedListenerSets counts the ListenerSets that were accepted.
	AttachedListenerSets int32
}

// ListenerSet is what became of a ListenerSet and of each of its listeners.
type ListenerSet struct {
	Generation int64
	// Gateway is `namespace/name` of the one it belongs to.
	Gateway    string
	Conditions []Condition
	// Listeners are in the order of the spec; there are none when the Gateway does not take the ListenerSet.
	Listeners []Listener
}

// Address is where a fleet can be reached.
type Address struct {
	// Hostname says that Value is a name, not an IP address.
	Hostname bool
	// InCluster says that it leads there only from inside the cluster.
	InCluster bool
	Value     string
}

// Listener is what became of one listener.
type Listener struct {
	Name           string
	SupportedKinds []RouteKind
	AttachedRoutes int32
	Conditions     []Condition
}

// RouteKind is a kind of route a listener takes.
type RouteKind struct {
	Group string
	Kind  string
}

// Route is what became of a route, seen from each parent it names that is ours. It has no parents when none is.
type Route struct {
	Generation int64
	Parents    []Parent
	// RateLimited says that the rate limit service counts requests of the route, and has to know how before it is programmed.
	RateLimited bool
}

// Policy is what became of a policy, seen from each Gateway of ours that it has something to do with. It has no ancestors when none has.
type Policy struct {
	Generation int64
	Ancestors  []Parent
	// Conditions and Summary are about the policy as a whole. Only inherited policies have them. Gateways are all that it affects, also those
	// beyond the ancestors that can be listed.
	Conditions []Condition
	Summary    PolicySummary
	Gateways   []string
	// RateLimited says that the policy has limits which the rate limit service has to know.
	RateLimited bool
}

// PolicySummary counts what a policy has to do with.
type PolicySummary struct {
	// Targets counts the targets, and Affected the objects that are reached through them.
	Targets  int
	Affected int
	// Overridden counts the objects on which a setting has no effect, and Failing those that do not exist or are rejected.
	Overridden int
	Failing    int
}

// Parent is what became of a route at one parent, or of a policy at one ancestor.
type Parent struct {
	Ref ParentRef
	// Gateway is `namespace/name` of the one whose proxies serve a route there, empty if none do.
	Gateway string
	// Listeners are the IDs of the listeners of that Gateway that take a route there and can be served.
	Listeners  []string `json:"-"`
	Conditions []Condition
}

// Rejection is what proxies of a Gateway reject of an object.
type Rejection struct {
	// Message is about the whole object, empty if they reject only listeners.
	Message string
	// Listeners has what is to be said of each listener: by name for those that a Gateway or ListenerSet has, by ID for those that a route
	// attaches to.
	Listeners map[string]string
}

// IsZero reports whether they reject nothing.
func (r Rejection) IsZero() bool { return r.Message == "" && len(r.Listeners) == 0 }

// ParentRef repeats a route's reference to its parent, as written, or names a policy's ancestor; nil is a field that was not written.
type ParentRef struct {
	Group       *string
	Kind        *string
	Namespace   *string
	Name        string
	SectionName *string
	Port        *int32
}
