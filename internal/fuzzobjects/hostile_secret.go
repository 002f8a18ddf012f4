package fuzzobjects

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"sync"
	"time"
)

// KeyPair is what a user might put into a Secret.
type KeyPair struct {
	Name        string
	Certificate []byte
	Key         []byte
}

// Bundle is what a user might put where authorities are expected.
type Bundle struct {
	Name string
	PEM  []byte
}

// HostileKeyPairs are good and bad key pairs of every kind. They are made once.
var HostileKeyPairs = sync.OnceValue(func() []KeyPair {
	year := func(n int) time.Time { return time.Now().AddDate(n, 0, 0) }
	leaf := func(key crypto.Signer) []byte { return certificate(key, nil, nil, year(-1), year(1)) }
	using := func(key crypto.Signer, usages ...x509.KeyUsage) []byte {
		return certificate(key, nil, nil, year(-1), year(1), usages...)
	}
	own := func(name string, key crypto.Signer) KeyPair { return KeyPair{name, leaf(key), pkcs8(key)} }
	p256, other := ecKey(elliptic.P256()), ecKey(elliptic.P256())
	rsa2048 := rsaKey(2048)
	root := ecKey(elliptic.P256())
	rootCertificate := certificate(root, nil, nil, year(-1), year(1))
	chained := certificate(p256, root, rootCertificate, year(-1), year(1))
	good, key := leaf(p256), pkcs8(p256)
	return []KeyPair{
		{"P-256", good, key},
		{"P-256 as SEC 1", good, sec1(p256)},
		{"P-256 behind its parameters", good, slices.Concat(block("EC PARAMETERS", []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}), sec1(p256))},
		own("P-224", ecKey(elliptic.P224())), own("P-384", ecKey(elliptic.P384())), own("P-521", ecKey(elliptic.P521())), own("Ed25519", edKey()),
		own("RSA 1024", rsaKey(1024)), own("RSA 3072", rsaKey(3072)),
		{"RSA 2048", leaf(rsa2048), pkcs8(rsa2048)},
		{"RSA 2048 as PKCS 1", leaf(rsa2048), block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsa2048))},
		{"expired", certificate(p256, nil, nil, year(-2), year(-1)), key},
		{"not yet valid", certificate(p256, nil, nil, year(1), year(2)), key},
		{"valid for ever", certificate(p256, nil, nil, year(-1), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), key},
		{"for signatures", using(p256, x509.KeyUsageDigitalSignature, x509.KeyUsageCertSign), key},
		{"for signing certificates", using(p256, x509.KeyUsageCertSign), key},
		{"for key agreement", using(p256, x509.KeyUsageKeyAgreement), key},
		{"RSA for signing certificates", using(rsa2048, x509.KeyUsageCertSign), pkcs8(rsa2048)},
		{"the key of another", good, pkcs8(other)},
		{"the key of another kind", good, pkcs8(rsa2048)},
		{"a chain", slices.Concat(chained, rootCertificate), key},
		{"a chain in the wrong order", slices.Concat(rootCertificate, chained), key},
		{"the same certificate twice", slices.Concat(good, good), key},
		{"garbage behind the certificate", slices.Concat(good, []byte("garbage\n")), key},
		{"a broken certificate behind a good one", slices.Concat(good, block("CERTIFICATE", []byte("nonsense"))), key},
		{"a half certificate behind a good one", slices.Concat(good, good[:len(good)/2]), key},
		{"a key among the certificates", slices.Concat(good, key), key},
		{"a key before the certificates", slices.Concat(key, good), key},
		{"text before the certificate", slices.Concat([]byte("subject=CN\nissuer=CN\n"), good), key},
		{"text before the key", good, slices.Concat([]byte("Bag Attributes\n"), key)},
		{"a certificate before the key", good, slices.Concat(good, key)},
		{"two keys", good, slices.Concat(key, pkcs8(other))},
		{"two keys, the wrong one first", good, slices.Concat(pkcs8(other), key)},
		{"lines that end as on Windows", bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")), bytes.ReplaceAll(
			key, []byte("\n"), []byte("\r\n"),
		)},
		{"no line break at the end", bytes.TrimSpace(good), bytes.TrimSpace(key)},
		{"indented", bytes.ReplaceAll(good, []byte("\n"), []byte("\n  ")), key},
		{"an X509 CERTIFICATE", relabel(good, "CERTIFICATE", "X509 CERTIFICATE"), key},
		{"a TRUSTED CERTIFICATE", relabel(good, "CERTIFICATE", "TRUSTED CERTIFICATE"), key},
		{"a key with the wrong label", good, relabel(key, "PRIVATE KEY", "RSA PRIVATE KEY")},
		{"a key with an EC label", good, relabel(key, "PRIVATE KEY", "EC PRIVATE KEY")},
		{"SEC 1 labelled as PKCS 8", good, relabel(sec1(p256), "EC PRIVATE KEY", "PRIVATE KEY")},
		{"a key with a password", good, locked(sec1(p256))},
		{"a key with a password in PKCS 8", good, relabel(key, "PRIVATE KEY", "ENCRYPTED PRIVATE KEY")},
		{"headers in the key", good, pem.EncodeToMemory(&pem.Block{
			Type: "PRIVATE KEY", Headers: map[string]string{"Comment": "x"}, Bytes: mustDER(key),
		})},
		{"headers in the certificate", pem.EncodeToMemory(&pem.Block{
			Type: "CERTIFICATE", Headers: map[string]string{"Comment": "x"}, Bytes: mustDER(good),
		}), key},
		{"DER", mustDER(good), mustDER(key)},
		{"a byte order mark", slices.Concat([]byte("\xef\xbb\xbf"), good), key},
		{"zero bytes", slices.Concat(good, []byte{0, 0}), slices.Concat(key, []byte{0})},
		{"empty", nil, nil},
		{"nonsense", []byte("nonsense"), []byte("nonsense")},
		{"no key", good, nil},
		{"no certificate", nil, key},
		{"a long chain", slices.Concat(good, bytes.Repeat(rootCertificate, 150)), key},
	}
})

// HostileBundles are good and bad bundles of authorities. They are made once.
var HostileBundles = sync.OnceValue(func() []Bundle {
	now := time.Now()
	authority := func(key crypto.Signer) []byte {
		return certificate(key, nil, nil, now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0))
	}
	key := ecKey(elliptic.P256())
	good, another := authority(key), authority(ecKey(elliptic.P384()))
	return []Bundle{
		{"one", good},
		{"two", slices.Concat(good, another)},
		{"the same one twice", slices.Concat(good, good)},
		{"comments", slices.Concat([]byte("# root\n"), good, []byte("\n# another\n"), another)},
		{"P-224", authority(ecKey(elliptic.P224()))},
		{"Ed25519", authority(edKey())},
		{"RSA 1024", authority(rsaKey(1024))},
		{"expired", certificate(key, nil, nil, now.AddDate(-2, 0, 0), now.AddDate(-1, 0, 0))},
		{"a leaf", HostileKeyPairs()[0].Certificate},
		{"a key", pkcs8(key)},
		{"a revocation list", slices.Concat(good, block("X509 CRL", []byte("nonsense")))},
		{"a broken one behind a good one", slices.Concat(good, block("CERTIFICATE", []byte("nonsense")))},
		{"a half one behind a good one", slices.Concat(good, another[:len(another)/2])},
		{"a TRUSTED CERTIFICATE", relabel(good, "CERTIFICATE", "TRUSTED CERTIFICATE")},
		{"an X509 CERTIFICATE", relabel(good, "CERTIFICATE", "X509 CERTIFICATE")},
		{"lines that end as on Windows", bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n"))},
		{"zero bytes", slices.Concat(good, []byte{0}, another)},
		{"empty", nil},
		{"nonsense", []byte("nonsense")},
		{"many", bytes.Repeat(slices.Concat(good, another), 300)},
	}
})

func ecKey(curve elliptic.Curve) *ecdsa.PrivateKey {
	return must(ecdsa.GenerateKey(curve, cryptorand.Reader))
}

func rsaKey(bits int) *rsa.PrivateKey { return must(rsa.GenerateKey(cryptorand.Reader, bits)) }

func edKey() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(cryptorand.Reader)
	return must(key, err)
}

// certificate is signed by the parent, by itself if there is none.
func certificate(key, parent crypto.Signer, parentPEM []byte, from, to time.Time, usages ...x509.KeyUsage) []byte {
	var usage x509.KeyUsage
	for _, u := range usages {
		usage |= u
	}
	template := &x509.Certificate{
		KeyUsage:     usage,
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: "example.com"}, DNSNames: []string{
			"example.com", "*.example.com",
		},
		NotBefore: from, NotAfter: to, IsCA: parent == nil, BasicConstraintsValid: true,
	}
	issuer := template
	if parent == nil {
		parent = key
	} else {
		issuer = must(x509.ParseCertificate(mustDER(parentPEM)))
	}
	return block("CERTIFICATE", must(x509.CreateCertificate(cryptorand.Reader, template, issuer, key.Public(), parent)))
}

func pkcs8(key crypto.Signer) []byte {
	return block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
}

func sec1(key *ecdsa.PrivateKey) []byte {
	return block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(key)))
}

// locked encrypts a key in the way of old, which people still have.
func locked(text []byte) []byte {
	b, _ := pem.Decode(text)
	//nolint:staticcheck // insecure, and to be found in Secrets
	return pem.EncodeToMemory(must(x509.EncryptPEMBlock(cryptorand.Reader, b.Type, b.Bytes, []byte("password"), x509.PEMCipherAES256)))
}

func block(label string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der})
}

func relabel(text []byte, from, to string) []byte {
	return bytes.ReplaceAll(text, []byte(from+"---"), []byte(to+"---"))
}

func mustDER(text []byte) []byte {
	b, _ := pem.Decode(text)
	return b.Bytes
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
