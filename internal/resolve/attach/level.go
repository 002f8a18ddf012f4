package attach

// Level is how specific a target is. Settings of a policy at a higher level win over those at a lower one, unless the lower one overrides.
type Level uint8

// The levels, from the least to the most specific. A ListenerSet and the listeners of a Gateway are never above each other: what is
// served by a listener of a ListenerSet has that ListenerSet and its listener above it, not a listener of the Gateway.
const (
	LevelNone Level = iota
	LevelClass
	LevelGateway
	LevelListenerSet
	LevelListener
	LevelBackend
	LevelPort
	LevelRoute
	LevelRule
	levels
)

func (l Level) String() string {
	if l >= levels {
		return "unknown"
	}
	return [levels]string{"none", "GatewayClass", "Gateway", "ListenerSet", "listener", "backend", "port", "route", "rule"}[l]
}

// ClientLevels, RequestLevels and DestinationLevels are where the settings of client connections, of requests and of destinations can be
// set. A request goes to one of several backends, so what decides about requests cannot depend on the backend.
var (
	ClientLevels      = []Level{LevelClass, LevelGateway, LevelListenerSet, LevelListener}
	RequestLevels     = []Level{LevelClass, LevelGateway, LevelListenerSet, LevelListener, LevelRoute, LevelRule}
	DestinationLevels = []Level{LevelClass, LevelGateway, LevelListenerSet, LevelListener, LevelBackend, LevelPort, LevelRoute, LevelRule}
)

// levelSet is a set of levels; the empty set stands for all.
type levelSet uint16

func setOf(list ...Level) levelSet {
	var s levelSet
	for _, l := range list {
		s |= 1 << l
	}
	return s
}

func (s levelSet) has(l Level) bool { return s == 0 || s&(1<<l) != 0 }
