package security

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// key is a public key of a JSON Web Key Set, as far as Envoy reads it.
type key struct {
	Kty string `json:"kty"`
	Kid string `json:"kid"`
	Alg string `json:"alg"`
	Crv string `json:"crv"`
	N   string `json:"n"`
	E   string `json:"e"`
	X   string `json:"x"`
	Y   string `json:"y"`
	// D is only in private keys.
	D json.RawMessage `json:"d"`
}

const (
	maxKeySet = 64 << 10
	maxRSA    = 16384
	leastRSA  = 1024
)

// keySet reads a JSON Web Key Set, and writes those of its keys that Envoy can use. Envoy rejects a set without any.
func keySet(text string) (string, error) {
	if len(text) > maxKeySet {
		return "", fmt.Errorf("it has %d bytes, and %d are allowed", len(text), maxKeySet)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return "", errors.New("it is not a JSON Web Key Set; write {\"keys\": [...]}")
	}
	var used []json.RawMessage
	var first error
	for i, raw := range set.Keys {
		var k key
		err := json.Unmarshal(raw, &k)
		if err == nil {
			err = k.check()
		}
		if err == nil {
			used = append(used, raw)
		} else if first == nil {
			first = fmt.Errorf("key %d: %w", i, err)
		}
	}
	if len(used) == 0 {
		if first == nil {
			return "", errNoKey
		}
		return "", fmt.Errorf("%w; %w", errNoKey, first)
	}
	var out bytes.Buffer
	err := json.NewEncoder(&out).Encode(map[string]any{"keys": used})
	return strings.TrimSpace(out.String()), err
}

var (
	errNoKey     = errors.New("it has no usable public key")
	errPrivate   = errors.New("it is a private key, with which every reader of it could sign tokens; remove d and all behind it")
	errSymmetric = errors.New("it is a shared secret, with which every reader of it could sign tokens; use public keys")
	errKey       = errors.New("its numbers are not those of a public key")
)

// check says why Envoy cannot use a key.
func (k *key) check() error {
	if k.D != nil {
		return errPrivate
	}
	switch k.Kty {
	case "RSA":
		n, e := number(k.N), number(k.E)
		if n == nil || e == nil || n.BitLen() < leastRSA || n.BitLen() > maxRSA || e.BitLen() > 32 || e.Sign() <= 0 {
			return errKey
		}
		return k.algorithm("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
	case "EC":
		return k.checkCurve()
	case "OKP":
		if raw, err := base64.RawURLEncoding.DecodeString(k.X); k.Crv != "Ed25519" || err != nil || len(raw) != 32 {
			return errKey
		}
		return k.algorithm("EdDSA")
	case "oct":
		return errSymmetric
	default:
		return fmt.Errorf("type %q is not known; use RSA, EC or OKP", k.Kty)
	}
}

// curves are those that Envoy knows, with the algorithm of each.
var curves = map[string]struct {
	elliptic.Curve
	algorithm string
}{"P-256": {elliptic.P256(), "ES256"}, "P-384": {elliptic.P384(), "ES384"}, "P-521": {elliptic.P521(), "ES512"}}

func (k *key) checkCurve() error {
	curve, known := curves[k.Crv]
	if !known {
		return fmt.Errorf("curve %q is not known; use P-256, P-384 or P-521", k.Crv)
	}
	x, y := number(k.X), number(k.Y)
	if x == nil || y == nil || !onCurve(curve.Curve, x, y) {
		return errKey
	}
	return k.algorithm(curve.algorithm)
}

// onCurve checks a point as the standard library does, without its deprecated functions.
func onCurve(curve elliptic.Curve, x, y *big.Int) bool {
	size := (curve.Params().BitSize + 7) / 8
	if x.BitLen() > size*8 || y.BitLen() > size*8 {
		return false
	}
	point := append([]byte{4}, x.FillBytes(make([]byte, size))...)
	_, err := ecdsa.ParseUncompressedPublicKey(curve, append(point, y.FillBytes(make([]byte, size))...))
	return err == nil
}

func (k *key) algorithm(known ...string) error {
	if k.Alg == "" || slices.Contains(known, k.Alg) {
		return nil
	}
	return fmt.Errorf("algorithm %q does not go with the key; use %s", k.Alg, strings.Join(known, ", "))
}

// number reads a number in base64url, without padding or with it.
func number(text string) *big.Int {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(raw) == 0 || len(raw) > maxRSA/8+1 {
		return nil
	}
	return new(big.Int).SetBytes(raw)
}
