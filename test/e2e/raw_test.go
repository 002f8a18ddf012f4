//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// sent is the answer to bytes that were sent as they are.
type sent struct {
	status int
	header http.Header
	body   string
}

// sendRaw sends bytes to port 80 of a Gateway, on a connection of their own, and reads one answer.
func sendRaw(ctx context.Context, address, request string) (sent, error) {
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(address, "80"))
	if err != nil {
		return sent{}, fmt.Errorf("dial %s: %w", address, err)
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return sent{}, fmt.Errorf("limit a connection: %w", err)
	}
	if _, err := io.WriteString(connection, request); err != nil {
		return sent{}, fmt.Errorf("send %q: %w", request, err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return sent{}, fmt.Errorf("answer to %q: %w", request, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return sent{}, fmt.Errorf("answer to %q: %w", request, err)
	}
	return sent{response.StatusCode, response.Header, string(body)}, nil
}
