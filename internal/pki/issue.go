package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"time"
)

// IssueServer makes a certificate for a control plane that is reached by the names.
func (a *Authority) IssueServer(lives Lifetimes, now time.Time, dnsNames ...string) (tls.Certificate, error) {
	if len(dnsNames) == 0 {
		return tls.Certificate{}, errors.New("a server certificate needs a name")
	}
	der, key, err := a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "gatewright-xds"},
		DNSNames:    dnsNames,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, lives.Server, lives.Backdate, now)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("issuing the certificate of %s: %w", dnsNames[0], err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading back the certificate of %s: %w", dnsNames[0], err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// issue signs template with the authority that signs now. A leaf never outlives its signer.
func (a *Authority) issue(template *x509.Certificate, life, backdate time.Duration, now time.Time) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = now.Add(-backdate)
	template.NotAfter = now.Add(life)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	signer := a.signer(now)
	if end := signer.certificate.NotAfter; end.Before(template.NotAfter) {
		template.NotAfter = end
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing: %w", err)
	}
	return der, key, nil
}
