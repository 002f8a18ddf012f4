package refs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// minRSA is the least strength Envoy serves.
const minRSA = 2048

// keyPair is a certificate chain and its key as every proxy reads them: nothing but the certificates, leaf first, and the key in PKCS 8.
type keyPair struct {
	chain, key []byte
	leaf       *x509.Certificate
}

// parseKeyPair checks a key pair as Envoy does. Whatever else is in the texts (comments, parameters, labels of old) is left behind.
// When the certificate is valid is for clients to check, as it passes with time: Envoy serves it, and so do we.
func parseKeyPair(certificateText, keyText []byte) (keyPair, error) {
	var pair keyPair
	var err error
	if pair.chain, pair.leaf, err = parseChain(certificateText); err != nil {
		return keyPair{}, fmt.Errorf("%s: %w", corev1.TLSCertKey, err)
	}
	key, err := parseKey(keyText)
	if err != nil {
		return keyPair{}, fmt.Errorf("%s: %w", corev1.TLSPrivateKeyKey, err)
	}
	if err := checkStrength(pair.leaf.PublicKey); err != nil {
		return keyPair{}, fmt.Errorf("%s: %w", corev1.TLSCertKey, err)
	}
	if err := checkUsage(pair.leaf); err != nil {
		return keyPair{}, fmt.Errorf("%s: %w", corev1.TLSCertKey, err)
	}
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(pair.leaf.PublicKey) {
		return keyPair{}, fmt.Errorf("%s is not the key of the first certificate in %s, which is that of %q; the certificate of the "+
			"server comes first, and its key beside it",
			corev1.TLSPrivateKeyKey, corev1.TLSCertKey, pair.leaf.Subject)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("%s: %w", corev1.TLSPrivateKeyKey, err)
	}
	pair.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return pair, nil
}

// parseChain reads all certificates. A text that breaks off in the middle of one is not taken for a shorter chain.
func parseChain(text []byte) (chain []byte, leaf *x509.Certificate, err error) {
	if err := checkSize(text, maxChain); err != nil {
		return nil, nil, err
	}
	rest := text
	for count := 1; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, nil, fmt.Errorf("certificate %d cannot be read: %w", count, err)
		}
		if err := checkPublicKey(certificate.PublicKey); err != nil {
			return nil, nil, fmt.Errorf("certificate %d: %w", count, err)
		}
		if count++; count > maxChainCertificates+1 {
			return nil, nil, fmt.Errorf("it has more than %d certificates; put only the chain of the server there", maxChainCertificates)
		}
		if leaf == nil {
			leaf = certificate
		}
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	switch {
	case bytes.Contains(rest, []byte("-----BEGIN CERTIFICATE")):
		return nil, nil, errors.New("a certificate is not complete, or not PEM; put the whole chain there")
	case leaf == nil:
		return nil, nil, errNoCertificate
	}
	return chain, leaf, nil
}

// parseKey reads the first private key.
func parseKey(text []byte) (crypto.Signer, error) {
	if err := checkSize(text, maxKey); err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PRIVATE KEY" && !strings.HasSuffix(block.Type, " PRIVATE KEY") {
			continue
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, errors.New("the key is protected with a password, which cannot be entered; put it there without one")
		}
		return parseDER(block.Bytes)
	}
	return nil, errors.New("it has no PEM block of type PRIVATE KEY")
}

// parseDER tries the forms a key can have, whatever its label says.
func parseDER(der []byte) (crypto.Signer, error) {
	if err := checkNumbers(der, 0); err != nil {
		return nil, err
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T signs nothing; use RSA or ECDSA", key)
	}
	return signer, nil
}

// checkStrength refuses the keys that Envoy does.
func checkStrength(key crypto.PublicKey) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < minRSA {
			return fmt.Errorf("an RSA key of %d bits is too weak; use %d or more", bits, minRSA)
		}
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() && k.Curve != elliptic.P521() {
			return fmt.Errorf("a key on curve %s is not served; use P-256, P-384 or P-521", k.Curve.Params().Name)
		}
	case ed25519.PublicKey:
	default:
		return fmt.Errorf("a key of type %T is not served; use RSA or ECDSA", key)
	}
	return nil
}

// checkUsage refuses a certificate that Envoy does: with an elliptic curve it must be for signatures, if it says what it is for.
func checkUsage(leaf *x509.Certificate) error {
	_, elliptical := leaf.PublicKey.(*ecdsa.PublicKey)
	if elliptical && leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return errors.New("the key usage of the certificate lacks digitalSignature, which a server needs; have one issued with it")
	}
	return nil
}
