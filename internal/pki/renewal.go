package pki

import (
	"crypto/tls"
	"crypto/x509"
	"time"
)

// NeedsRenewal says whether a client's key pair must be replaced now: it is broken, proves another identity, is not trusted by the
// bundle, or has less than a third of its life left.
func NeedsRenewal(pair KeyPair, uri string, bundle []byte, now time.Time) bool {
	leaf := pair.leaf()
	if leaf == nil || len(leaf.URIs) != 1 || leaf.URIs[0].String() != uri {
		return true
	}
	if !now.Before(renewAt(leaf.NotBefore, leaf.NotAfter)) {
		return true
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err != nil
}

// RenewAt is when a key pair's last third begins; the zero time for one that can not be read.
func RenewAt(pair KeyPair) time.Time {
	leaf := pair.leaf()
	if leaf == nil {
		return time.Time{}
	}
	return renewAt(leaf.NotBefore, leaf.NotAfter)
}

// leaf is the certificate, or nil if it can not be read or the key is not its own.
func (p KeyPair) leaf() *x509.Certificate {
	pair, err := tls.X509KeyPair(p.CertificatePEM, p.PrivateKeyPEM)
	if err != nil {
		return nil
	}
	return pair.Leaf
}
