package xds

// Observer is told what proxies do. It is called from the goroutines of streams, without locks, and holds back that stream while it runs.
type Observer interface {
	// Connected and Disconnected come in pairs, one for each stream of a proxy of the Gateway.
	Connected(group string)
	Disconnected(group string)
	// Acknowledged lists the versions of one response that a proxy took, empty for what was removed.
	Acknowledged(group string, t Type, versions map[string]string)
	// Refused lists the versions of one response that a proxy did not take as a whole, and its reason. It may have taken some of them.
	Refused(group string, t Type, versions map[string]string, reason string)
}

// nobody does not look.
type nobody struct{}

func (nobody) Connected(string)                                {}
func (nobody) Disconnected(string)                             {}
func (nobody) Acknowledged(string, Type, map[string]string)    {}
func (nobody) Refused(string, Type, map[string]string, string) {}
