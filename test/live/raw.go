package live

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawLimit is how long an answer to a raw request is waited for.
const rawLimit = 10 * time.Second

// RawAnswer is what came back for a request that was sent as it was written.
type RawAnswer struct {
	Status int
	Header http.Header
	Body   []byte
	// Close says that the connection ends with it.
	Close bool
}

// RawHTTP1 sends text as it is, with the line that ends a header behind it, and reads the answer. Without a tls.Config it is not encrypted.
func RawHTTP1(ctx context.Context, address string, config *tls.Config, text string) (RawAnswer, error) {
	connection, err := dial(ctx, address, config)
	if err != nil {
		return RawAnswer{}, err
	}
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, strings.ReplaceAll(text, "\n", "\r\n")+"\r\n\r\n"); err != nil {
		return RawAnswer{}, fmt.Errorf("write to %s: %w", address, err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return RawAnswer{}, fmt.Errorf("read from %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return RawAnswer{}, fmt.Errorf("read the body from %s: %w", address, err)
	}
	return RawAnswer{Status: response.StatusCode, Header: response.Header, Body: body, Close: response.Close}, nil
}

// RawHTTP2 sends one request of these header fields, in pairs, and reads the answer. Without a tls.Config it is HTTP/2 with prior
// knowledge.
func RawHTTP2(ctx context.Context, address string, config *tls.Config, body []byte, fields ...string) (RawAnswer, error) {
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{http2.NextProtoTLS}
	}
	connection, err := dial(ctx, address, config)
	if err != nil {
		return RawAnswer{}, err
	}
	defer func() { _ = connection.Close() }()
	framer := http2.NewFramer(connection, connection)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return RawAnswer{}, fmt.Errorf("encode %s: %w", fields[i], err)
		}
	}
	write := func() error {
		if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
			return err
		}
		if err := framer.WriteSettings(); err != nil {
			return err
		}
		headers := http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: len(body) == 0}
		if err := framer.WriteHeaders(headers); err != nil || len(body) == 0 {
			return err
		}
		return framer.WriteData(1, true, body)
	}
	if err := write(); err != nil {
		return RawAnswer{}, fmt.Errorf("write to %s: %w", address, err)
	}
	return readStream(framer)
}

// readStream reads the answer on stream 1. Trailers are among its headers.
func readStream(framer *http2.Framer) (RawAnswer, error) {
	answer := RawAnswer{Header: http.Header{}}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return answer, fmt.Errorf("read a frame: %w", err)
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				answer.Header.Add(strings.TrimPrefix(field.Name, ":"), field.Value)
			}
			if answer.Status == 0 {
				answer.Status, _ = strconv.Atoi(f.PseudoValue("status"))
			}
		case *http2.DataFrame:
			answer.Body = append(answer.Body, f.Data()...)
		case *http2.RSTStreamFrame:
			return answer, fmt.Errorf("the stream is reset: %s", f.ErrCode)
		case *http2.GoAwayFrame:
			return answer, fmt.Errorf("the connection ends: %s", f.ErrCode)
		}
		h := frame.Header()
		part := h.StreamID == 1 && (h.Type == http2.FrameData || h.Type == http2.FrameHeaders)
		if part && h.Flags.Has(http2.FlagDataEndStream) {
			return answer, nil
		}
	}
}

func dial(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	var (
		connection net.Conn
		err        error
	)
	if config == nil {
		connection, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	} else {
		connection, err = (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return connection, connection.SetDeadline(time.Now().Add(rawLimit))
}
