//go:build fuzz

package fuzz

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gatewright/gatewright/internal/explain"
)

var errGoAway = errors.New("the connection is closed by GOAWAY")

// askByHTTP2 sends a request frame by frame, so that it goes out as it is.
func askByHTTP2(conn net.Conn, r explain.Request) reply {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	write := func(name, value string) {
		_ = encoder.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: value})
	}
	write(":method", r.Method)
	write(":authority", r.Host)
	if r.Method != http.MethodConnect {
		write(":scheme", map[bool]string{true: "https", false: "http"}[r.TLS])
		write(":path", r.Path)
	}
	for _, h := range r.Headers {
		write(h.Name, h.Value)
	}
	framer := http2.NewFramer(conn, conn)
	_, err := conn.Write([]byte(http2.ClientPreface))
	if err := errors.Join(err, framer.WriteSettings(), framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
	})); err != nil {
		return reply{err: err}
	}
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return reply{err: err}
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return replyOf(f)
		case *http2.RSTStreamFrame:
			// This is how HTTP/2 says that a request is not valid.
			return reply{status: http.StatusBadRequest}
		case *http2.GoAwayFrame:
			return reply{err: fmt.Errorf("%w: %s", errGoAway, f.ErrCode)}
		}
	}
}

func replyOf(f *http2.MetaHeadersFrame) reply {
	status, err := strconv.Atoi(f.PseudoValue("status"))
	r := reply{status: status, err: err}
	for _, h := range f.RegularFields() {
		if h.Name == "location" {
			r.location = h.Value
		}
	}
	return r
}
