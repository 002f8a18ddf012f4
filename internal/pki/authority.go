package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// Authority is the state of the certificate authority: the one that signs, perhaps its successor, and those that signed before.
// It never changes once made, so it may be shared freely and compared by its pointer.
type Authority struct {
	current signer
	// next is trusted and does not sign yet; nil most of the time.
	next *signer
	// previous are trusted until they expire and sign no more.
	previous []*x509.Certificate
}

// signer is a CA certificate and its key.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Advance brings the authority to where it should be now; nil starts a new one. It does one step at a time: a successor joins
// the bundle [Lifetimes.Overlap] before the end, and signs [Lifetimes.Learn] later, when all proxies have had time to learn it.
// Changed is false, and the authority the same pointer, when there is nothing to do.
func Advance(authority *Authority, lives Lifetimes, now time.Time) (advanced *Authority, changed bool, err error) {
	if authority == nil || authority.expired(now) {
		first, err := newSigner(lives, now)
		if err != nil {
			return nil, false, err
		}
		return &Authority{current: first}, true, nil
	}
	pruned, changed := authority.withoutExpired(now)
	switch {
	case pruned.next == nil && !now.Before(pruned.successorAt(lives)):
		next, err := newSigner(lives, now)
		if err != nil {
			return nil, false, err
		}
		return &Authority{current: pruned.current, next: &next, previous: pruned.previous}, true, nil
	case pruned.next != nil && !now.Before(pruned.promotionAt(lives)):
		promoted := &Authority{current: *pruned.next, previous: append(slices.Clone(pruned.previous), pruned.current.certificate)}
		promoted, _ = promoted.withoutExpired(now)
		return promoted, true, nil
	}
	return pruned, changed, nil
}

// Due is when [Advance] will next have something to do.
func (a *Authority) Due(lives Lifetimes) time.Time {
	due := a.successorAt(lives)
	if a.next != nil {
		due = a.promotionAt(lives)
	}
	for _, certificate := range a.previous {
		if certificate.NotAfter.Before(due) {
			due = certificate.NotAfter
		}
	}
	return due
}

// successorAt is when the successor joins the bundle.
func (a *Authority) successorAt(lives Lifetimes) time.Time {
	return a.current.certificate.NotAfter.Add(-lives.Overlap)
}

// promotionAt is when the successor starts to sign: once it was learnt, or at once if the current one has ended.
func (a *Authority) promotionAt(lives Lifetimes) time.Time {
	learnt := a.next.certificate.NotBefore.Add(lives.Backdate + lives.Learn)
	if end := a.current.certificate.NotAfter; end.Before(learnt) {
		return end
	}
	return learnt
}

// expired reports that nothing can sign any more, as after a year without a control plane.
func (a *Authority) expired(now time.Time) bool {
	return expired(a.current.certificate, now) && (a.next == nil || expired(a.next.certificate, now))
}

// signer is who signs now: the successor as soon as the current one has ended, whether or not the leader has said so yet.
func (a *Authority) signer(now time.Time) signer {
	if a.next != nil && expired(a.current.certificate, now) {
		return *a.next
	}
	return a.current
}

func (a *Authority) withoutExpired(now time.Time) (*Authority, bool) {
	alive := slices.DeleteFunc(slices.Clone(a.previous), func(c *x509.Certificate) bool { return expired(c, now) })
	if len(alive) == len(a.previous) {
		return a, false
	}
	return &Authority{current: a.current, next: a.next, previous: alive}, true
}

// trusted are all certificates a peer may be verified with, in a fixed order.
func (a *Authority) trusted() []*x509.Certificate {
	trusted := []*x509.Certificate{a.current.certificate}
	if a.next != nil {
		trusted = append(trusted, a.next.certificate)
	}
	return append(trusted, a.previous...)
}

// Bundle is every trusted authority in PEM, in a fixed order.
func (a *Authority) Bundle() []byte {
	var bundle []byte
	for _, certificate := range a.trusted() {
		bundle = append(bundle, encodeCertificate(certificate.Raw)...)
	}
	return bundle
}

// newSigner makes a self-signed authority. Each has a subject of its own, so that a verifier never tries the wrong one.
func newSigner(lives Lifetimes, now time.Time) (signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signer{}, fmt.Errorf("generating the key of a certificate authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return signer{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "Gatewright xDS CA " + hex.EncodeToString(serial.Bytes()[:4])},
		NotBefore:             now.Add(-lives.Backdate),
		NotAfter:              now.Add(lives.CA),
		IsCA:                  true,
		MaxPathLenZero:        true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return signer{}, fmt.Errorf("signing a certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return signer{}, fmt.Errorf("reading back a certificate authority: %w", err)
	}
	return signer{certificate: certificate, key: key}, nil
}

// newSerial is a random positive number of 16 bytes, more than the 64 bits of randomness that are asked of an authority.
func newSerial() (*big.Int, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("generating a serial number: %w", err)
	}
	raw[0] = raw[0]&0x7f | 0x40
	return new(big.Int).SetBytes(raw), nil
}

func expired(certificate *x509.Certificate, now time.Time) bool {
	return now.After(certificate.NotAfter)
}
