package ir

import "time"

// Session keeps the requests of a client on the endpoint that answered its first one, for as long as that endpoint is there.
type Session struct {
	// Header is the name of the header that carries the session; otherwise a cookie does.
	Header string
	// Cookie is the name of the cookie, and Path what it is valid for.
	Cookie string
	Path   string
	// Lifetime is how long the cookie lives; zero is until the client ends its own session.
	Lifetime time.Duration
}
