package ir

import "time"

// MaxExtensions is how many extensions requests of a rule can pass.
const MaxExtensions = 8

// Extensions are code of users that the requests of a rule pass, in this order, and responses backwards.
type Extensions struct {
	List []Extension
}

// All are the extensions.
func (e *Extensions) All() []Extension {
	if e == nil {
		return nil
	}
	return e.List
}

func (e *Extensions) needs(n *Needs) {
	for _, extension := range e.All() {
		extension.ExtProc.needs(n)
	}
}

// Extension is one of them. Exactly one field is set.
type Extension struct {
	ExtProc *ExtProc
	Lua     *Lua
}

// ExtProc is a server that sees requests and responses.
type ExtProc struct {
	Backend Backend
	// Timeout is for the answer to one message, nil for the proxy's default.
	Timeout *time.Duration
	// FailOpen lets requests pass while the server cannot be reached; otherwise they get StatusOnError, 0 for the proxy's default.
	FailOpen      bool
	StatusOnError int
	// Shadow does not wait for answers.
	Shadow bool
	// Request and Response are what the server sees, nil for nothing.
	Request, Response *ExtProcMessage
	// ModeOverride lets the server change that.
	ModeOverride bool
	// Accessible and Writable are namespaces of dynamic metadata.
	Accessible, Writable []string
}

func (e *ExtProc) needs(n *Needs) {
	if e != nil {
		n.backend(e.Backend)
	}
}

// BodyMode says how a body is sent to a server.
type BodyMode string

// The ways to send a body.
const (
	BodyNone       BodyMode = ""
	BodyStreamed   BodyMode = "Streamed"
	BodyBuffered   BodyMode = "Buffered"
	BodyPartial    BodyMode = "BufferedPartial"
	BodyFullDuplex BodyMode = "FullDuplexStreamed"
)

// ExtProcMessage is what a server sees of requests or responses, beside the headers.
type ExtProcMessage struct {
	Body       BodyMode
	Attributes []string
}

// Lua is a script.
type Lua struct {
	Source string
	// Context is a JSON object that the script can read, empty for none.
	Context string
}
