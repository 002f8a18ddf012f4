package pki

import (
	"crypto/tls"
	"errors"
	"sync"
	"time"
)

// Source gives the authority as it is known here and now; nil while it is not known yet. It must be safe for concurrent use.
type Source interface {
	Authority() *Authority
}

var errNoAuthority = errors.New("the certificate authority is not known yet")

// ServerTLS configures a server that proves its names; clients prove themselves by other means. The certificate is made in memory, and
// anew when a handshake finds it in its last third or signed by another authority than today's, so no file, timer or restart takes part
// in rotation.
func ServerTLS(source Source, lives Lifetimes, now func() time.Time, dnsNames ...string) *tls.Config {
	server := &server{source: source, lives: lives, now: now, dnsNames: dnsNames}
	config := server.base()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return server.config() }
	return config
}

// server remembers the configuration it made last and what it was made from.
type server struct {
	source   Source
	lives    Lifetimes
	now      func() time.Time
	dnsNames []string

	mu        sync.Mutex
	authority *Authority
	renewAt   time.Time
	made      *tls.Config
}

func (s *server) config() (*tls.Config, error) {
	authority, now := s.source.Authority(), s.now()
	if authority == nil {
		return nil, errNoAuthority
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil && s.authority == authority && now.Before(s.renewAt) {
		return s.made, nil
	}
	certificate, err := authority.IssueServer(s.lives, now, s.dnsNames...)
	if err != nil {
		return nil, err
	}
	made := s.base()
	made.Certificates = []tls.Certificate{certificate}
	s.made, s.authority, s.renewAt = made, authority, renewAt(certificate.Leaf.NotBefore, certificate.Leaf.NotAfter)
	return made, nil
}

// base is what does not rotate. Sessions are not resumed: the server proves itself on each connection with today's certificate.
func (s *server) base() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true,
		Time:                   s.now,
	}
}
