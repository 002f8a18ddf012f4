package tlsname

import (
	"slices"
	"strings"
)

// What BoringSSL knows, in its own names. Envoy refuses a listener or a cluster with any other.
var (
	CipherSuites = []string{
		"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
		"ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA",
		"ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA", "AES256-SHA",
	}
	Curves              = []string{"X25519", "P-256", "P-384", "P-521", "X25519MLKEM768"}
	SignatureAlgorithms = []string{
		"ecdsa_secp256r1_sha256", "ecdsa_secp384r1_sha384", "ecdsa_secp521r1_sha512", "rsa_pss_rsae_sha256", "rsa_pss_rsae_sha384",
		"rsa_pss_rsae_sha512", "rsa_pkcs1_sha256", "rsa_pkcs1_sha384", "rsa_pkcs1_sha512", "ecdsa_sha1", "rsa_pkcs1_sha1", "ed25519",
	}
)

// Unknown is the first name that is not among those, or empty. Suites of the same preference are in brackets.
func Unknown(names, known []string) string {
	for _, name := range names {
		for alternative := range strings.SplitSeq(strings.Trim(name, "[]"), "|") {
			if !slices.Contains(known, alternative) {
				return alternative
			}
		}
	}
	return ""
}
