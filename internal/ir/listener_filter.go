package ir

// ListenerFilter is what every request of a listener passes before a rule is chosen: a server that authorizes it, or one that processes it.
// At most one field is set. Without any it cannot be served, and then every request gets 500.
type ListenerFilter struct {
	Auth    *ExternalAuth `json:",omitempty"`
	ExtProc *ExtProc      `json:",omitempty"`
}

// Backend is the server, zero if the filter cannot be served.
func (f *ListenerFilter) Backend() Backend {
	switch {
	case f.Auth != nil:
		return f.Auth.Backend
	case f.ExtProc != nil:
		return f.ExtProc.Backend
	default:
		return Backend{}
	}
}

func (f *ListenerFilter) needs(n *Needs) {
	f.Auth.needs(n)
	f.ExtProc.needs(n)
}
