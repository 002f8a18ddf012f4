package fuzzobjects

import (
	"bytes"
	"crypto"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"sync"
	"time"
)

// Revocations is a certificate revocation list, made once.
var Revocations = sync.OnceValue(func() []byte {
	now := time.Now()
	return revocationList(ecKey(elliptic.P256()), now.Add(-time.Hour), now.AddDate(1, 0, 0), 1)
})

// revocationList revokes as many certificates, from number 1.
func revocationList(key crypto.Signer, from, to time.Time, count int, extensions ...pkix.Extension) []byte {
	issuer := must(x509.ParseCertificate(mustDER(certificate(
		key, nil, nil, from.AddDate(-1, 0, 0), to.AddDate(1, 0, 0), x509.KeyUsageCertSign, x509.KeyUsageCRLSign))))
	template := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: from, NextUpdate: to, ExtraExtensions: extensions}
	for i := range count {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: big.NewInt(int64(i + 1)), RevocationTime: from, ReasonCode: i % 7,
		})
	}
	return block("X509 CRL", must(x509.CreateRevocationList(cryptorand.Reader, template, issuer, key)))
}

// HostileRevocations are good and bad certificate revocation lists. They are made once.
var HostileRevocations = sync.OnceValue(func() []Bundle {
	now := time.Now()
	hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	key := ecKey(elliptic.P256())
	extension := func(id asn1.ObjectIdentifier, critical bool, value ...byte) pkix.Extension {
		return pkix.Extension{Id: id, Critical: critical, Value: value}
	}
	point, own := asn1.ObjectIdentifier{2, 5, 29, 28}, asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 1}
	good, another := revocationList(key, hour(-1), hour(1), 3), revocationList(rsaKey(2048), hour(-1), hour(1), 0)
	return []Bundle{
		{"one", good},
		{"two", slices.Concat(good, another)},
		{"the same one twice", slices.Concat(good, good)},
		{"comments", slices.Concat([]byte("# list\n"), good, []byte("\n# another\n"), another)},
		{"many certificates", revocationList(key, hour(-1), hour(1), 2000)},
		{"Ed25519", revocationList(edKey(), hour(-1), hour(1), 1)},
		{"expired", revocationList(key, hour(-2), hour(-1), 1)},
		{"not yet valid", revocationList(key, hour(1), hour(2), 1)},
		{"an extension that is not known", revocationList(key, hour(-1), hour(1), 1, extension(own, false, 5, 0))},
		{"a critical extension that is not known", revocationList(key, hour(-1), hour(1), 1, extension(own, true, 5, 0))},
		{"an extension twice", revocationList(key, hour(-1), hour(1), 1, extension(own, false, 5, 0), extension(own, false, 5, 0))},
		{"a distribution point for users", revocationList(key, hour(-1), hour(1), 1, extension(point, true, 0x30, 3, 0x81, 1, 0xff))},
		{"a distribution point for users and authorities", revocationList(key, hour(-1), hour(1), 1,
			extension(point, true, 0x30, 6, 0x81, 1, 0xff, 0x82, 1, 0xff))},
		{"a distribution point that is none", revocationList(key, hour(-1), hour(1), 1, extension(point, true, 4, 1, 1))},
		{"an empty distribution point", revocationList(key, hour(-1), hour(1), 1, extension(point, true, 0x30, 0))},
		{"a broken one behind a good one", slices.Concat(good, block("X509 CRL", []byte("nonsense")))},
		{"more behind the list", block("X509 CRL", append(slices.Clone(mustDER(good)), 5, 0))},
		{"a half one behind a good one", slices.Concat(good, another[:len(another)/2])},
		{"another label", relabel(good, "X509 CRL", "CRL")},
		{"a certificate", HostileKeyPairs()[0].Certificate},
		{"a certificate before the list", slices.Concat(HostileKeyPairs()[0].Certificate, good)},
		{"a key before the list", slices.Concat(pkcs8(key), good)},
		{"DER", mustDER(good)},
		{"lines that end as on Windows", bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n"))},
		{"empty", nil},
		{"nonsense", []byte("nonsense")},
	}
})
