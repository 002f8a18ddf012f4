//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// late is a connection on which every byte arrives after a delay, in both directions. The number of bytes on their way is not limited.
func late(connection net.Conn, delay time.Duration) net.Conn {
	near, far := net.Pipe()
	go carry(connection, far, delay)
	go carry(far, connection, delay)
	return near
}

// piece is some bytes, and when they arrive.
type piece struct {
	due  time.Time
	data []byte
}

// carry copies from one connection to another, late, and closes both at the end.
func carry(to, from net.Conn, delay time.Duration) {
	underway := make(chan piece, 1<<16)
	go func() {
		defer close(underway)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				underway <- piece{time.Now().Add(delay), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range underway {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
}

// openHTTP2 opens a connection of HTTP/2 in plain text whose frames the test writes and reads itself.
func openHTTP2(t *testing.T, at string) *http2.Framer {
	t.Helper()
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return startHTTP2(t, connection)
}

// startHTTP2 begins to speak HTTP/2 on a connection, which is closed at the end of the test.
func startHTTP2(t *testing.T, connection net.Conn) *http2.Framer {
	t.Helper()
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(connection, connection)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return framer
}

// writeRequest sends a GET with one header of its own on a stream.
func writeRequest(t *testing.T, framer *http2.Framer, stream uint32, header [2]string) {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", protocolHost}, {":path", "/"}, header} {
		if err := encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	frame := http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}
	if err := framer.WriteHeaders(frame); err != nil {
		t.Fatal(err)
	}
}
