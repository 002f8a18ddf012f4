package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// The keys of the data an [Authority] is kept as. Which certificate of the bundle signs, and which will, follows from the keys, so
// the parts cannot contradict each other.
const (
	// BundleKey holds every trusted certificate.
	BundleKey = "ca.crt"
	// CurrentKey holds the private key of the authority that signs.
	CurrentKey = "ca.key"
	// NextKey holds the private key of its successor, while there is one.
	NextKey = "next.key"
)

// Marshal gives the data to keep, such as a Secret's.
func (a *Authority) Marshal() (map[string][]byte, error) {
	current, err := encodeKey(a.current.key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CurrentKey, err)
	}
	data := map[string][]byte{BundleKey: a.Bundle(), CurrentKey: current}
	if a.next != nil {
		if data[NextKey], err = encodeKey(a.next.key); err != nil {
			return nil, fmt.Errorf("%s: %w", NextKey, err)
		}
	}
	return data, nil
}

// Unmarshal is the inverse of [Authority.Marshal]. It is nil for data that holds nothing yet, which [Advance] starts from; an error
// names the key that is corrupt.
func Unmarshal(data map[string][]byte) (*Authority, error) {
	if len(data[BundleKey]) == 0 && len(data[CurrentKey]) == 0 && len(data[NextKey]) == 0 {
		return nil, nil
	}
	trusted, err := decodeBundle(data[BundleKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", BundleKey, err)
	}
	current, trusted, err := takeSigner(trusted, data[CurrentKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CurrentKey, err)
	}
	authority := &Authority{current: current}
	if len(data[NextKey]) > 0 {
		var next signer
		if next, trusted, err = takeSigner(trusted, data[NextKey]); err != nil {
			return nil, fmt.Errorf("%s: %w", NextKey, err)
		}
		authority.next = &next
	}
	authority.previous = trusted
	return authority, nil
}

// takeSigner takes the certificate that the key belongs to out of those that are trusted.
func takeSigner(trusted []*x509.Certificate, keyPEM []byte) (signer, []*x509.Certificate, error) {
	key, err := decodeKey(keyPEM)
	if err != nil {
		return signer{}, nil, err
	}
	for i, certificate := range trusted {
		if key.PublicKey.Equal(certificate.PublicKey) {
			rest := append(append([]*x509.Certificate(nil), trusted[:i]...), trusted[i+1:]...)
			return signer{certificate: certificate, key: key}, rest, nil
		}
	}
	return signer{}, nil, fmt.Errorf("no certificate in %s belongs to this key", BundleKey)
}

func decodeBundle(data []byte) ([]*x509.Certificate, error) {
	var bundle []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(bundle)+1, err)
		}
		if !certificate.IsCA {
			return nil, fmt.Errorf("certificate %d is not a certificate authority", len(bundle)+1)
		}
		bundle = append(bundle, certificate)
	}
	if len(bundle) == 0 {
		return nil, errors.New("no PEM certificate")
	}
	return bundle, nil
}

func decodeKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("no PEM private key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the private key is not an ECDSA key")
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
