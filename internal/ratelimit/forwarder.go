package ratelimit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"time"
)

// Forwarder stands beside the rate limit service in its pod, and passes the calls for configuration on to Gatewright: over TLS, and with
// the token of the pod. The service itself reads neither authorities nor tokens again when they are rotated.
type Forwarder struct {
	// Server is the host and port of Gatewright. The host is the name in its certificate.
	Server string
	// BundleFile and TokenFile hold the trusted authorities and the token. They are read for each connection, and for each call.
	BundleFile, TokenFile string
	Log                   *slog.Logger
}

const (
	// pingAfter is how long a connection may be silent, and pingTimeout how long an answer may take, before it is closed.
	pingAfter   = 30 * time.Second
	pingTimeout = 10 * time.Second
)

// Run forwards what comes to the listener until the context is done.
func (f *Forwarder) Run(ctx context.Context, listener net.Listener) error {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: f.handler(), Protocols: protocols, ReadHeaderTimeout: pingTimeout,
		ErrorLog: slog.NewLogLogger(f.Log.Handler(), slog.LevelWarn),
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("forward calls from %s: %w", listener.Addr(), err)
	}
	return nil
}

func (f *Forwarder) handler() http.Handler {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "https", f.Server },
		Transport: &http.Transport{
			DialTLSContext: f.dial, Protocols: protocols, HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		},
		// A stream never ends by itself, so each message is passed on at once.
		FlushInterval:  -1,
		ModifyResponse: statusToTrailers,
		ErrorLog:       slog.NewLogLogger(f.Log.Handler(), slog.LevelWarn),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := os.ReadFile(f.TokenFile)
		if err != nil {
			f.Log.Warn("the token cannot be read", "error", err)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		forward.ServeHTTP(w, r)
	})
}

// statusToTrailers moves the status of a call that has no messages to trailers. gRPC allows it in the headers only if these end the
// response, but a ReverseProxy may flush headers before it ends one.
func statusToTrailers(response *http.Response) error {
	for _, name := range []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"} {
		values, ok := response.Header[name]
		if !ok {
			continue
		}
		if response.Trailer == nil {
			response.Trailer = http.Header{}
		}
		response.Trailer[name] = values
		delete(response.Header, name)
	}
	return nil
}

func (f *Forwarder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	bundle, err := os.ReadFile(f.BundleFile)
	if err != nil {
		return nil, fmt.Errorf("read the authorities: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("there is no certificate in %s", f.BundleFile)
	}
	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authorities, NextProtos: []string{"h2"}}}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	connection, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to Gatewright: %w", err)
	}
	return connection, nil
}
