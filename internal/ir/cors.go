package ir

// CORS says which scripts of other origins may use what a rule serves. The proxy answers preflight requests itself.
type CORS struct {
	Guard Guard `json:",omitempty"`
	// Origins are compared with the whole Origin header. None matches no origin.
	Origins []StringMatch
	// Methods and Headers are what a request may use; the one element `*` stands for whatever it asks for.
	Methods []string
	Headers []string
	// Expose are the headers of a response that scripts may read.
	Expose []string
	// Credentials allows requests with cookies and the like.
	Credentials bool
	// MaxAge is how many seconds a client may remember the answer.
	MaxAge int32
}
