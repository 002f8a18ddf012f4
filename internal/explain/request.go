package explain

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// Request is a request as a client sends it.
type Request struct {
	Method string
	// TLS says that the connection is encrypted, and ServerName is the name that the client asks for, empty for none.
	TLS        bool
	ServerName string
	// Port is the one that the client connects to.
	Port int32
	// Host is the Host header, with a port if the client sends one.
	Host string
	// Path has the query, as it is sent.
	Path string
	// Headers are all others, in the order in which they are sent.
	Headers []ir.Header
	// HTTP2 says that the client speaks HTTP/2, otherwise HTTP/1.1.
	HTTP2 bool
	// Client is the address of the client, zero if it is not known.
	Client netip.Addr
	// Certificate says that the client shows a certificate that the listener accepts.
	Certificate bool
	// Gateway is the one that the request is for, zero for whichever has the port.
	Gateway ir.Name
}

// The usual ports.
const (
	portHTTP  = 80
	portHTTPS = 443
)

var (
	errScheme = errors.New("the scheme is not http or https")
	errHost   = errors.New("there is no host")
)

// ParseURL returns the request for a URL. The path is not changed, unlike what net/url does with it.
func ParseURL(method, url string) (Request, error) {
	r := Request{Method: method, Path: "/", Port: portHTTP}
	scheme, rest, ok := strings.Cut(url, "://")
	switch {
	case !ok:
		rest = url
	case strings.EqualFold(scheme, "https"):
		r.TLS, r.HTTP2, r.Port = true, true, portHTTPS
	case !strings.EqualFold(scheme, "http"):
		return Request{}, fmt.Errorf("%q: %w", url, errScheme)
	}
	r.Host = rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		r.Host, r.Path = rest[:end], rest[end:]
		r.Path, _, _ = strings.Cut(r.Path, "#")
		if !strings.HasPrefix(r.Path, "/") {
			r.Path = "/" + r.Path
		}
	}
	if r.Host == "" {
		return Request{}, fmt.Errorf("%q: %w", url, errHost)
	}
	name := r.Host
	if host, port, err := net.SplitHostPort(r.Host); err == nil {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return Request{}, fmt.Errorf("%q: the port: %w", url, err)
		}
		name, r.Port = host, int32(number)
		if r.Port == usualPort(r.TLS) {
			// Clients leave it out.
			r.Host = strings.TrimSuffix(r.Host, ":"+port)
		}
	}
	if r.TLS {
		r.ServerName = serverName(name)
	}
	return r, nil
}

func usualPort(tls bool) int32 {
	if tls {
		return portHTTPS
	}
	return portHTTP
}

// serverName is the TLS server name that clients send for a host: none for an address, and no dot at the end.
func serverName(host string) string {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ""
	}
	return strings.TrimSuffix(host, ".")
}

func (r *Request) scheme() string {
	if r.TLS {
		return "https"
	}
	return "http"
}
