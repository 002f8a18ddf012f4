package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/gatewright/gatewright/test/bench/baseline"
)

// protocol is how clients talk.
type protocol struct {
	name, scheme string
	// port is which of the proxy's.
	port  int
	flags []string
}

var protocols = []protocol{
	{name: "HTTP/1.1", scheme: "http", flags: []string{"--h1"}},
	{name: "HTTP/2", scheme: "http"},
	{name: "HTTP/2 over TLS", scheme: "https", port: 1},
}

// subject is one configuration, and how many instructions it takes for a request of each protocol.
type subject struct {
	name  string
	build func() (*configuration, error)
	// headers are what requests carry.
	headers      []string
	instructions []float64
}

// becomeVariable has this program become what its arguments say, see [withoutRestarts].
const becomeVariable = "PARTS_BECOME"

func main() {
	if os.Getenv(becomeVariable) != "" {
		exitOn(withoutRestarts(os.Args[1], os.Args[2:]))
	}
	only := flag.String("only", "", "take away only parts whose names match this expression")
	inTurn := flag.Bool("cumulative", false, "take parts away one after the other, instead of each by itself")
	talk := flag.String("protocols", "", "only protocols whose names match this expression")
	wild := flag.Bool("wildcard", false, "have the route for *.example.com instead of the host itself")
	policies := flag.Bool("policies", false, "compare a route with policies, and what their filters cost a route without")
	flag.Parse()
	r := race{domain: host, only: regexp.MustCompile(*only), talk: regexp.MustCompile(*talk), cumulative: *inTurn, policies: *policies}
	if *wild {
		r.domain = wildcard
	}
	exitOn(r.run(context.Background()))
}

func exitOn(err error) {
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// race is what is compared.
type race struct {
	// domain is what the route is for.
	domain     string
	only, talk *regexp.Regexp
	cumulative bool
	policies   bool

	binary string
	spoken []protocol
}

func (r *race) run(ctx context.Context) error {
	if r.binary = os.Getenv("ENVOY"); r.binary == "" {
		return errors.New("ENVOY is not set to the path of an Envoy; run make bench-filtercost")
	}
	for _, p := range protocols {
		if r.talk.MatchString(p.name) {
			r.spoken = append(r.spoken, p)
		}
	}
	keys, err := newKeyPair()
	if err != nil {
		return err
	}
	backend, err := r.answers(ctx)
	if err != nil {
		return err
	}
	defer backend.stop()
	subjects := r.lineUp(backend.ports[0], keys)
	if r.policies {
		if subjects, err = r.lineUpPolicies(backend.ports[0], keys); err != nil {
			return err
		}
	}
	for _, s := range subjects {
		if err := r.measure(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		_, _ = fmt.Fprintf(os.Stderr, "%s %s: %.0f\n", time.Now().Format(time.TimeOnly), s.name, s.instructions)
	}
	report(os.Stdout, subjects, r.spoken)
	return nil
}

// answers is the backend.
func (r *race) answers(ctx context.Context) (*proxy, error) {
	text, err := baseline.Backend()
	if err != nil {
		return nil, fmt.Errorf("write the backend's configuration: %w", err)
	}
	c, err := read(text)
	if err != nil {
		return nil, err
	}
	return start(ctx, r.binary, c)
}

// lineUp has ours twice, so that what two that are the same differ by is known.
func (r *race) lineUp(backend int, keys keyPair) []*subject {
	without := func(name string, taken ...part) *subject {
		return &subject{name: name, build: func() (*configuration, error) {
			c, err := ours(backend, r.domain, keys, nil)
			for _, p := range taken {
				if err == nil {
					p.remove(c)
				}
			}
			return c, err
		}}
	}
	all := []*subject{without("Gatewright"), without("the same again")}
	var taken []part
	for _, p := range slices.Concat(parts, extras) {
		if !r.only.MatchString(p.name) {
			continue
		}
		if !r.cumulative {
			taken = nil
		}
		taken = append(taken, p)
		all = append(all, without("− "+p.name, taken...))
	}
	return append(all, without("without any of them", parts...), &subject{name: "by hand", build: func() (
		*configuration, error,
	) {
		return bare(backend, keys)
	}})
}

func (r *race) measure(ctx context.Context, s *subject) error {
	c, err := s.build()
	if err != nil {
		return err
	}
	p, err := start(ctx, r.binary, c)
	if err != nil {
		return err
	}
	defer p.stop()
	p.headers = s.headers
	for _, how := range r.spoken {
		n, err := p.instructions(ctx, how)
		if err != nil {
			return err
		}
		s.instructions = append(s.instructions, n)
	}
	return nil
}

func newKeyPair() (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return keyPair{}, fmt.Errorf("make a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("encode a key: %w", err)
	}
	return keyPair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}
